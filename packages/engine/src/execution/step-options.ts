import {
  GhoulsError,
  durationMs,
  resolveBackoff,
  type ProbeContext,
  type ResolvedBackoff,
  type StepOptions,
  type UndoContext,
} from "@ghouls/core";
import { isCallName, notAName } from "./call-name.ts";

export interface ResolvedStepOptions {
  readonly tries: number;
  readonly timeoutMs: number;
  readonly backoff: ResolvedBackoff;
  readonly once: boolean;
  readonly probe: ((context: ProbeContext) => unknown) | undefined;
  readonly undo: ((context: UndoContext) => unknown) | undefined;
}

const DEFAULT_TIMEOUT_MS = 60_000;
export const MAX_TRIES = 100;
const KNOWN = new Set(["tries", "backoff", "timeout", "effect", "probe", "undo"]);

/** Why a step cannot be called like this, or its options with defaults filled in. */
export function resolveStep(
  name: unknown,
  run: unknown,
  options: StepOptions | undefined,
  functionLimitMs: number,
): ResolvedStepOptions | string {
  if (!isCallName(name)) return notAName("step");
  if (typeof run !== "function") return `step "${name}" has no function`;
  const unknown = Object.keys(options ?? {}).find((key) => !KNOWN.has(key));
  if (unknown !== undefined) {
    return `step "${name}": option "${unknown}" is not known in this version (known: ${[...KNOWN].join(", ")})`;
  }
  try {
    return resolved(name, options ?? {}, functionLimitMs);
  } catch (error) {
    if (!(error instanceof GhoulsError)) throw error;
    return `step "${name}": ${error.message}${error.fix === undefined ? "" : `. ${error.fix}`}`;
  }
}

function resolved(name: string, options: StepOptions, functionLimitMs: number): ResolvedStepOptions | string {
  const tries = options.tries ?? 1;
  if (!Number.isInteger(tries) || tries < 1 || tries > MAX_TRIES)
    return `step "${name}": tries is a whole number from 1 to ${MAX_TRIES}`;
  // The default shrinks to what the function can give; what the author wrote is kept or refused.
  const timeoutMs =
    options.timeout === undefined
      ? Math.min(DEFAULT_TIMEOUT_MS, functionLimitMs / 2)
      : durationMs(options.timeout);
  if (timeoutMs <= 0 || timeoutMs > functionLimitMs) {
    return `step "${name}": a timeout of ${options.timeout} does not fit the function's limit of ${Math.floor(functionLimitMs / 1000)} s`;
  }
  if (options.effect !== undefined && options.effect !== "once")
    return `step "${name}": effect can only be "once"`;
  if (options.probe !== undefined && (options.effect !== "once" || typeof options.probe !== "function")) {
    return `step "${name}": a probe is a function, and belongs to a step with effect: "once"`;
  }
  if (options.undo !== undefined && typeof options.undo !== "function")
    return `step "${name}": an undo is a function`;
  return {
    tries,
    timeoutMs,
    once: options.effect === "once",
    probe: options.probe,
    undo: options.undo,
    backoff: resolveBackoff(options.backoff),
  };
}
