import { GhoulsError } from "./errors.ts";

/** A length of time as users write it: a whole number and a unit, such as "90s", "2h", "3d", "500ms". */
export type Duration = `${number}${"ms" | "s" | "m" | "h" | "d"}`;

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The longest duration that is taken: ten years. */
const MAX_MS = 3_650 * UNIT_MS.d;

/** Whether a text is a duration that {@link durationMs} takes. */
export function isDuration(text: string): text is Duration {
  const match = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text);
  if (match === null) return false;
  return Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS] <= MAX_MS;
}

/**
 * Milliseconds of a duration.
 * @throws GhoulsError `configuration_invalid` for a text of another form, or above ten years
 */
export function durationMs(text: string): number {
  const match = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text);
  if (match === null || !isDuration(text)) {
    throw new GhoulsError("configuration_invalid", `"${String(text).slice(0, 40)}" is not a duration`, {
      fix: 'Write a whole number and a unit, such as "500ms", "90s", "15m", "2h" or "3d" (at most ten years).',
    });
  }
  return Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
}
