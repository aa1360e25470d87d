import {
  GhoulsError,
  LONGEST_RESIDENT_DELAY_MS,
  durationMs,
  resolveBackoff,
  retryDelayMs,
  type TransactionOptions,
} from "@ghouls/core";
import { isCallName, notAName } from "./call-name.ts";
import { MAX_TRIES, type ResolvedStepOptions } from "./step-options.ts";

const KNOWN = new Set(["tries", "backoff", "timeout"]);

/** What may be asked of a transaction, in milliseconds. */
export interface TransactionLimits {
  /** The longest that one may take, and does where nothing is said. */
  readonly transactionMs: number;
  /** The longest that anything may take in an invocation of this function. */
  readonly functionMs: number;
}

/** Why a transaction cannot be called like this, or its options with defaults filled in. */
export function resolveTransaction(
  name: unknown,
  run: unknown,
  options: TransactionOptions | undefined,
  limits: TransactionLimits,
): ResolvedStepOptions | string {
  if (!isCallName(name)) return notAName("transaction");
  if (typeof run !== "function") return `transaction "${name}" has no function`;
  const unknown = Object.keys(options ?? {}).find((key) => !KNOWN.has(key));
  if (unknown !== undefined)
    return `transaction "${name}": option "${unknown}" is not known in this version (known: ${[...KNOWN].join(", ")})`;
  try {
    const resolved = resolve(options ?? {}, limits);
    return typeof resolved === "string" ? `transaction "${name}": ${resolved}` : resolved;
  } catch (error) {
    if (!(error instanceof GhoulsError)) throw error;
    return `transaction "${name}": ${error.message}${error.fix === undefined ? "" : `. ${error.fix}`}`;
  }
}

function resolve(
  options: TransactionOptions,
  { transactionMs, functionMs }: TransactionLimits,
): ResolvedStepOptions | string {
  const tries = options.tries ?? 1;
  if (!Number.isInteger(tries) || tries < 1 || tries > MAX_TRIES)
    return `tries is a whole number from 1 to ${MAX_TRIES}`;
  const timeoutMs =
    options.timeout === undefined ? Math.min(transactionMs, functionMs / 2) : durationMs(options.timeout);
  if (timeoutMs <= 0 || timeoutMs > transactionMs)
    return `a timeout of ${options.timeout} is not taken: a transaction lasts ${transactionMs} ms at most, because others wait for what it has locked. Do what is slow in a step before it`;
  if (timeoutMs > functionMs)
    return `a timeout of ${options.timeout} does not fit the function's limit of ${Math.floor(functionMs / 1000)} s`;
  const backoff = resolveBackoff(options.backoff);
  // A run is not parked for a transaction, so its worker waits.
  if (tries > 1 && retryDelayMs(backoff, tries, 1) > LONGEST_RESIDENT_DELAY_MS)
    return `its backoff comes to delays above ${LONGEST_RESIDENT_DELAY_MS} ms, for which its worker would stay: give it a smaller max, or catch its failure and ctx.sleep before another one`;
  return { tries, timeoutMs, once: false, probe: undefined, undo: undefined, backoff };
}
