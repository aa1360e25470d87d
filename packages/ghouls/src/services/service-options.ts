import { GhoulsError, durationMs, isDuration, type ServiceTimes } from "@ghouls/core";
import * as z from "zod";

/** What the options of every adapter are made of. */
export const duration = z.string().refine(isDuration, 'a whole number and a unit, such as "30s"');
export const someTime = duration.refine(
  (text) => !isDuration(text) || durationMs(text) > 0,
  "must be longer than 0",
);

/** What every adapter is asked with and gives, and how long a question may take. */
export const QUESTIONS = {
  request: z.custom(isSchema, "must be a zod schema"),
  result: z.custom(isSchema, "must be a zod schema"),
  timeout: someTime.default("10s"),
};

function isSchema(value: unknown): boolean {
  return typeof value === "object" && value !== null && "safeParse" in value;
}

/**
 * @param what such as "an HTTP service"
 * @throws GhoulsError configuration_invalid, which repeats no value: one may hold a secret
 */
export function checkedBy<T>(shape: z.ZodType<T>, options: unknown, what: string): T {
  const { data, error } = shape.safeParse(options);
  if (data !== undefined) return data;
  const issues = (error?.issues ?? []).map(({ path, message }) => ({
    path: `/${path.map(String).join("/")}`,
    message,
  }));
  throw new GhoulsError("configuration_invalid", `these are no options of ${what}`, {
    issues,
    fix: issues.map(({ path, message }) => `${path.slice(1) || "the options"}: ${message}`).join("; "),
  });
}

export function timesOf(of: {
  readonly timeout: string;
  readonly poll: string | null;
  readonly heartbeat?: string | undefined;
}): ServiceTimes {
  return {
    timeoutMs: durationMs(of.timeout),
    pollMs: of.poll === null ? null : durationMs(of.poll),
    heartbeatMs: of.heartbeat === undefined ? null : durationMs(of.heartbeat),
  };
}

/** A delay is no shorter than was said, and a memory no longer. */
export function memoryOf(of: { readonly delay: string; readonly remembers?: string | undefined }) {
  return {
    delaySeconds: Math.ceil(durationMs(of.delay) / 1_000),
    ...(of.remembers === undefined ? {} : { remembersSeconds: durationMs(of.remembers) / 1_000 }),
  };
}
