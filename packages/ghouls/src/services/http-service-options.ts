import { GhoulsError, durationMs, isDuration, type ServiceTimes, type ServiceTraits } from "@ghouls/core";
import * as z from "zod";

const duration = z.string().refine(isDuration, 'a whole number and a unit, such as "30s"');
const some = duration.refine((text) => !isDuration(text) || durationMs(text) > 0, "must be longer than 0");

const Shape = z.strictObject({
  url: z
    .string()
    .refine(
      (text) => addressOf(text) !== undefined,
      "an https URL without user and password (http only where egress.origins admits it)",
    ),
  request: z.custom(isSchema, "must be a zod schema"),
  result: z.custom(isSchema, "must be a zod schema"),
  headers: z.custom((value) => typeof value === "function", "must be a function").optional(),
  lookup: z.enum(["authoritative", "advisory", "none"]).default("advisory"),
  submit: z.enum(["idempotent", "once"]).default("once"),
  cancel: z.enum(["final", "advisory", "none"]).default("advisory"),
  delay: duration.default("5s"),
  poll: some.nullable().default("30s"),
  timeout: some.default("10s"),
  heartbeat: some.optional(),
});

export interface CheckedOptions {
  readonly address: URL;
  readonly traits: ServiceTraits;
  readonly times: ServiceTimes;
}

/** @throws GhoulsError configuration_invalid, which repeats no value: a URL may hold a password */
export function checkedOptions(options: unknown): CheckedOptions {
  const { data, error } = Shape.safeParse(options);
  const address = data === undefined ? undefined : addressOf(data.url);
  if (data === undefined || address === undefined) {
    const issues = (error?.issues ?? []).map(({ path, message }) => ({
      path: `/${path.map(String).join("/")}`,
      message,
    }));
    throw new GhoulsError("configuration_invalid", "these are no options of an HTTP service", {
      issues,
      fix: issues.map(({ path, message }) => `${path.slice(1) || "the options"}: ${message}`).join("; "),
    });
  }
  const { lookup, submit, cancel, delay, poll, timeout, heartbeat } = data;
  return {
    address,
    traits: { lookup, submit, cancel, delaySeconds: Math.ceil(durationMs(delay) / 1_000) },
    times: {
      timeoutMs: durationMs(timeout),
      pollMs: poll === null ? null : durationMs(poll),
      heartbeatMs: heartbeat === undefined ? null : durationMs(heartbeat),
    },
  };
}

function addressOf(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  url.hash = "";
  const safe = /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
  return safe ? url : undefined;
}

function isSchema(value: unknown): boolean {
  return typeof value === "object" && value !== null && "safeParse" in value;
}
