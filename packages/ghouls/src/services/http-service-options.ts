import type { ServiceTimes, ServiceTraits } from "@ghouls/core";
import * as z from "zod";
import { QUESTIONS, checkedBy, duration, memoryOf, someTime, timesOf } from "./service-options.ts";

const Shape = z.strictObject({
  url: z.string().transform((text, context) => {
    const address = addressOf(text);
    if (address !== undefined) return address;
    const message = "an https URL without user and password (http only where egress.origins admits it)";
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  }),
  ...QUESTIONS,
  headers: z.custom((value) => typeof value === "function", "must be a function").optional(),
  lookup: z.enum(["authoritative", "advisory", "none"]).default("advisory"),
  submit: z.enum(["idempotent", "once"]).default("once"),
  cancel: z.enum(["final", "advisory", "none"]).default("advisory"),
  delay: duration.default("5s"),
  remembers: someTime.optional(),
  poll: someTime.nullable().default("30s"),
  heartbeat: someTime.optional(),
});

export interface CheckedOptions {
  readonly address: URL;
  readonly traits: ServiceTraits;
  readonly times: ServiceTimes;
}

/** @throws GhoulsError configuration_invalid, which repeats no value: a URL may hold a password */
export function checkedOptions(options: unknown): CheckedOptions {
  const data = checkedBy(Shape, options, "an HTTP service");
  const { url, lookup, submit, cancel } = data;
  return { address: url, traits: { lookup, submit, cancel, ...memoryOf(data) }, times: timesOf(data) };
}

function addressOf(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  url.hash = "";
  const safe = /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
  return safe ? url : undefined;
}
