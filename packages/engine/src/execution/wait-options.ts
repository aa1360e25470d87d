import {
  GhoulsError,
  MAX_VALUE_BYTES,
  ON_EXPIRY,
  UnserializableError,
  durationMs,
  namesRole,
  namesSubject,
  serialize,
  type AnyService,
  type ArmOwner,
  type ConsentOptions,
  type OnExpiry,
  type ParentClose,
  type RegisteredWorkflow,
  type SignalOptions,
  wire,
} from "@ghouls/core";
import { isCallName, notAName } from "./call-name.ts";

/** What a call waits for, as one hop has understood it. */
export interface Wait {
  readonly owner: ArmOwner;
  /** When its time is over; null where it has none, or where it is counted from the park. */
  readonly dueAt: Date | null;
  /** Of a step that waits for its next try. */
  readonly tries: number | null;
  readonly consent?: ConsentRequest;
  readonly job?: JobRequest;
  readonly child?: ChildRequest;
  /** Checks what came from outside; the answer is what the code gets. */
  readonly receive?: (result: unknown) => unknown;
}

/** A child as the code asks for it. */
export interface ChildRequest {
  readonly workflow: RegisteredWorkflow;
  /** Canonical JSON. */
  readonly inputText: string;
  readonly parentClose: ParentClose;
  /** Null: the workflow's, or the default one. */
  readonly queue: string | null;
  /** Null: the parent's. */
  readonly priority: number | null;
}

/** A job as the code asks for it: all of it is frozen by the park. */
export interface JobRequest {
  /** Name of its service in the configuration. */
  readonly service: string;
  /** Those that ask the same executor, where code of a release asks: what was begun goes on as one of them. */
  readonly among: readonly string[];
  /** Whether nobody can tell which of them it means. */
  readonly isUnclear: boolean;
  readonly definition: AnyService;
  /** Canonical JSON. */
  readonly requestText: string;
  readonly deadlineMs: number | null;
  readonly heartbeatMs: number | null;
}

/** A consent as the code asks for it. All of it but the source is frozen by the park. */
export interface ConsentRequest {
  readonly title: string;
  readonly deciders: readonly string[];
  readonly quorum: number;
  readonly expiresMs: number | null;
  readonly onExpiry: OnExpiry;
  readonly requesterMayDecide: boolean;
  /** JSON text of what deciders are shown; undefined for nothing. */
  readonly detail: string | undefined;
  readonly source: string | null;
}

const CONSENT_OPTIONS = new Set([
  "deciders",
  "quorum",
  "expires",
  "onExpiry",
  "detail",
  "requesterMayDecide",
  "source",
]);
const SIGNAL_OPTIONS = new Set(["schema", "timeout"]);
const DECIDER = /^(?:role|user):[\x21-\x7e]{1,200}$/;
const MAX_DECIDERS = 100;

/** What a wait call can be, or why it cannot: a sentence with the fix. */
export type Understood = { readonly name: string; readonly wait: Wait } | string;

/**
 * @param sources names of the decision sources that the configuration has
 * @param requestedBy who asked for the run
 */
export function understandConsent(
  title: unknown,
  options: ConsentOptions | undefined,
  sources: readonly string[],
  requestedBy: string,
): Understood {
  return understood("consent", title, options, CONSENT_OPTIONS, (name) => {
    const { deciders, quorum = 1, onExpiry = "expire", requesterMayDecide = false } = options ?? {};
    const source = options?.source ?? null;
    if (!Array.isArray(deciders) || deciders.length === 0 || deciders.length > MAX_DECIDERS)
      return `name 1 to ${MAX_DECIDERS} deciders, such as deciders: ["role:legal"]`;
    const odd = deciders.find((one) => typeof one !== "string" || !DECIDER.test(one));
    if (odd !== undefined)
      return `"${String(odd).slice(0, 100)}" is no decider: write "role:<name>", or "user:<subject of a key>"`;
    if (!Number.isInteger(quorum) || quorum < 1 || quorum > MAX_DECIDERS)
      return `quorum is a whole number from 1 to ${MAX_DECIDERS}`;
    const people = new Set(deciders);
    if (quorum > people.size && !deciders.some(namesRole))
      return `a quorum of ${quorum} cannot be reached by ${people.size} deciders`;
    if (!ON_EXPIRY.includes(onExpiry)) return `onExpiry is one of ${ON_EXPIRY.join(", ")}`;
    if (source !== null && !sources.includes(source))
      return `source "${String(source).slice(0, 100)}" is not among the decision sources of the configuration`;
    // The word of a source decides by itself.
    if (source === null && requesterMayDecide !== true) {
      const others = new Set(deciders.filter((one) => !namesSubject(one, requestedBy)));
      if (others.size < quorum && !deciders.some(namesRole))
        return `it cannot be granted: ${requestedBy} has asked for the run, and so may not decide. Name other deciders, or set requesterMayDecide: true`;
    }
    const detail = detailOf(options?.detail);
    const consent = {
      title: name,
      deciders: [...people].toSorted((a, b) => (a < b ? -1 : 1)),
      quorum,
      expiresMs: options?.expires === undefined ? null : durationMs(options.expires),
      onExpiry,
      requesterMayDecide: requesterMayDecide === true,
      detail,
      source,
    };
    return { name, wait: { owner: "consent", dueAt: null, tries: null, consent } };
  });
}

/** What deciders are shown has to be JSON, like a result. @throws GhoulsError for what is not */
function detailOf(detail: unknown): string | undefined {
  try {
    return serialize(detail);
  } catch (error) {
    if (!(error instanceof UnserializableError)) throw error;
    throw new GhoulsError("configuration_invalid", `its detail cannot be kept: ${error.message}`, {
      fix: `Give JSON of at most ${MAX_VALUE_BYTES} bytes.`,
    });
  }
}

/** The last moment that ledger and wire write alike, in four digits of a year. */
const LAST_MOMENT = new Date("9999-12-31T23:59:59.999Z");

/** @param now of the call; a moment or a duration counted from it */
export function understandSleep(
  until: unknown,
  options: { readonly name?: string } | undefined,
  now: Date,
): Understood {
  if (typeof until !== "string" && !(until instanceof Date))
    return `sleep: ${typeof until} is no time: give a duration such as "3d", or a Date`;
  const given = until instanceof Date ? momentOf(until) : until;
  return understood("sleep", options?.name ?? given, options, new Set(["name"]), (name) => {
    const asked =
      until instanceof Date ? new Date(until) : new Date(now.getTime() + durationMs(String(until)));
    if (Number.isNaN(asked.getTime())) return "it is until no moment: the Date is invalid";
    if (asked > LAST_MOMENT)
      return "it is until a moment that the ledger cannot keep: give one before the year 10000";
    // What lies behind is over now: the ledger does not know every moment that a Date can be.
    const dueAt = asked < now ? now : asked;
    return { name, wait: { owner: "timer", dueAt, tries: null, receive: () => undefined } };
  });
}

function momentOf(date: Date): string {
  return Number.isNaN(date.getTime()) ? "invalid date" : date.toISOString();
}

export function understandSignal(signal: unknown, options: SignalOptions | undefined, now: Date): Understood {
  return understood("signal", signal, options, SIGNAL_OPTIONS, (name) => {
    if (!wire.SIGNAL_NAME.test(name))
      return `nobody could send it: the name of a signal is ${wire.SIGNAL_NAME_RULE}`;
    const { schema, timeout } = options ?? {};
    if (schema !== undefined && typeof schema.safeParse !== "function") return "its schema is none of zod's";
    const dueAt = timeout === undefined ? null : new Date(now.getTime() + durationMs(timeout));
    return {
      name,
      wait: { owner: "signal", dueAt, tries: null, receive: (result) => received(result, schema) },
    };
  });
}

interface Received {
  readonly outcome: string;
  readonly payload?: unknown;
}

/** The payload as the schema gives it; the same after a replay, because the schema belongs to the pinned code. */
function received(result: unknown, schema: SignalOptions["schema"]): unknown {
  const { outcome, payload } = result as Received;
  if (outcome !== "RECEIVED" || schema === undefined) return result;
  try {
    const parsed = schema.safeParse(payload);
    if (parsed.success) return { ...(result as object), payload: parsed.data };
    return { ...(result as object), outcome: "INVALID", problem: parsed.error.message.slice(0, 1_500) };
  } catch (error) {
    const problem = `the schema threw: ${String(error).slice(0, 500)}`;
    return { ...(result as object), outcome: "INVALID", problem };
  }
}

export function understood(
  kind: string,
  name: unknown,
  options: object | undefined,
  known: ReadonlySet<string>,
  read: (name: string) => Understood,
): Understood {
  if (!isCallName(name)) return notAName(kind);
  const what = `${kind} "${name}"`;
  if (options !== undefined && (typeof options !== "object" || options === null))
    return `${what}: its options are an object`;
  const unknown = Object.keys(options ?? {}).find((key) => !known.has(key));
  if (unknown !== undefined) {
    return `${what}: option "${unknown}" is not known in this version (known: ${[...known].join(", ")})`;
  }
  try {
    const answer = read(name);
    return typeof answer === "string" ? `${what}: ${answer}` : answer;
  } catch (error) {
    if (!(error instanceof GhoulsError)) throw error;
    return `${what}: ${error.message}${error.fix === undefined ? "" : `. ${error.fix}`}`;
  }
}
