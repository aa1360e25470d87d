import { GhoulsError, describeFailure, type Issue } from "./errors.ts";

/**
 * JSON at the edges. Stored text is what was digested, never a round trip through jsonb; numbers stay as they were sent.
 */

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** What a value becomes by way of the journal: dates and everything else with `toJSON` turn into what that returns. */
export type Jsonified<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined | void
    ? T
    : T extends { toJSON(): infer R }
      ? Jsonified<R>
      : T extends bigint | symbol | ((...args: never[]) => unknown)
        ? never
        : T extends object
          ? { [K in keyof T]: Jsonified<T[K]> }
          : never;

/** Deepest nesting of a document that is taken. */
export const MAX_DEPTH = 100;
const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

interface RawJsonApi {
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
}
const rawJson = JSON as unknown as RawJsonApi;
const parseWithSource = JSON.parse as (
  text: string,
  reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown;

export interface ParsedJson {
  readonly value: unknown;
  /** Canonical text of the document: keys sorted, no white space, numbers as sent. */
  readonly canonical: string;
  /** Canonical text of one member of a top-level object, or undefined where it is absent. */
  member(key: string): string | undefined;
}

/**
 * Parses a document from outside. Refuses what the ledger could not give back unchanged or what could do harm: nesting
 * above {@link MAX_DEPTH}, the keys of prototypes, NUL, lone surrogates, numbers beyond 2^53 - 1.
 * @throws GhoulsError `malformed_json` where it is no JSON, `invalid_request` with paths for the rest
 */
export function parseJson(text: string): ParsedJson {
  if (nestingOf(text) > MAX_DEPTH) {
    throw new GhoulsError("malformed_json", `the document is nested more than ${MAX_DEPTH} levels deep`, {
      fix: "Flatten the document, or send it as one string.",
    });
  }
  let raw: unknown;
  try {
    raw = parseWithSource(text, (_key, value, context) =>
      typeof value === "number" ? rawJson.rawJSON(context.source ?? String(value)) : value,
    );
  } catch (error) {
    throw new GhoulsError(
      "malformed_json",
      `the document is not valid JSON: ${(error as Error).message.slice(0, 200)}`,
      {
        fix: "Send one JSON document in UTF-8.",
      },
    );
  }
  const issues: Issue[] = [];
  inspect(raw, "", issues);
  if (issues.length > 0) {
    throw new GhoulsError("invalid_request", "the document holds values that cannot be kept unchanged", {
      issues,
      fix: "Send large numbers as strings, and text without NUL and lone surrogates.",
    });
  }
  return {
    value: JSON.parse(text) as unknown,
    canonical: canonicalText(raw),
    member: (key) => {
      if (typeof raw !== "object" || raw === null || !Object.hasOwn(raw, key)) return undefined;
      return canonicalText((raw as Record<string, unknown>)[key]);
    },
  };
}

/** The deepest nesting of brackets outside strings; iterative, so that no input overflows the stack. */
function nestingOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (inString) {
      if (code === 0x5c) index += 1;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x5b || code === 0x7b) deepest = Math.max(deepest, (depth += 1));
    else if (code === 0x5d || code === 0x7d) depth -= 1;
  }
  return deepest;
}

function inspect(value: unknown, path: string, issues: Issue[]): void {
  if (issues.length >= 20) return;
  if (typeof value === "string") {
    const problem = textProblem(value);
    if (problem !== undefined) issues.push({ path, message: problem });
    return;
  }
  if (typeof value !== "object" || value === null) return;
  if (rawJson.isRawJSON(value)) {
    const number = Number(JSON.stringify(value));
    if (Math.abs(number) > Number.MAX_SAFE_INTEGER) {
      issues.push({
        path,
        message: "a number beyond 2^53 - 1 would not come back unchanged; send it as a string",
      });
    }
    return;
  }
  if (Array.isArray(value)) {
    value.forEach((item, index) => inspect(item, `${path}/${index}`, issues));
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    const at = `${path}/${key.slice(0, 100).toWellFormed()}`;
    if (FORBIDDEN_KEYS.has(key)) issues.push({ path: at, message: "this key is not allowed" });
    const problem = textProblem(key);
    if (problem !== undefined) issues.push({ path: at, message: `the key: ${problem}` });
    inspect(item, at, issues);
  }
}

function textProblem(text: string): string | undefined {
  if (text.includes("\0")) return "text with a NUL character is not taken";
  if (!text.isWellFormed()) return "text with a lone surrogate is not taken";
  return undefined;
}

/** Canonical JSON of a plain value: keys sorted by UTF-16 units, no white space. The value must hold JSON only. */
export function canonicalText(value: unknown): string {
  return JSON.stringify(sorted(value));
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || rawJson.isRawJSON(value)) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}

/** Why a value of the user's code cannot be kept. */
export class UnserializableError extends Error {
  readonly reason: "unserializable" | "too_large";
  constructor(reason: "unserializable" | "too_large", message: string) {
    super(message);
    this.name = "UnserializableError";
    this.reason = reason;
  }
}

/** Largest value that is kept, in UTF-8 bytes of its JSON text. */
export const MAX_VALUE_BYTES = 1_048_576;

/** Largest journal of a run, in bytes of its stored results. */
export const MAX_JOURNAL_BYTES = 32 * 1_048_576;

/**
 * The JSON text of a value that user code returned, or undefined for `undefined`. Whatever JSON would drop or change in
 * silence (undefined in an array, NaN, a Map, a class instance, a cycle) is refused with its path.
 * @throws UnserializableError
 */
export function serialize(value: unknown, limitBytes: number = MAX_VALUE_BYTES): string | undefined {
  if (value === undefined) return undefined;
  let text: string;
  try {
    text = JSON.stringify(plain(value, "", []));
  } catch (error) {
    if (error instanceof UnserializableError) throw error;
    throw new UnserializableError(
      "unserializable",
      `it cannot be turned into JSON: ${describeFailure(error).message.slice(0, 500)}`,
    );
  }
  const bytes = Buffer.byteLength(text);
  if (bytes > limitBytes) {
    throw new UnserializableError("too_large", `it is ${bytes} bytes of JSON, the limit is ${limitBytes}`);
  }
  return text;
}

function plain(value: unknown, path: string, parents: readonly unknown[]): unknown {
  const at = path === "" ? "the value" : `the value at ${path}`;
  const refuse = (what: string) =>
    new UnserializableError("unserializable", `${at} is ${what}, which JSON cannot hold`);
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (!Number.isFinite(value)) throw refuse(String(value));
      return value;
    case "undefined":
    case "bigint":
    case "symbol":
    case "function":
      throw refuse(`a value of type ${typeof value}`);
    case "object":
  }
  if (value === null) return null;
  if (parents.includes(value)) throw refuse("a cycle");
  if (parents.length > MAX_DEPTH) throw refuse(`nested more than ${MAX_DEPTH} levels deep`);
  const below = [...parents, value];
  if (value instanceof Date && Number.isNaN(value.getTime())) throw refuse("an invalid Date");
  if ("toJSON" in value && typeof value.toJSON === "function") {
    const replaced: unknown = value.toJSON("");
    if (replaced === value) throw refuse("a cycle of toJSON");
    return plain(replaced, path, below);
  }
  if (Array.isArray(value)) return Array.from(value, (item, index) => plain(item, `${path}/${index}`, below));
  if (!isPlainObject(value)) throw refuse(`a ${value.constructor?.name ?? "class instance"}`);
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    Object.defineProperty(copy, key, {
      value: plain(item, `${path}/${key.slice(0, 100)}`, below),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return copy;
}

/** An object literal, also one of another realm; no class instance. */
function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return true;
  return Object.getPrototypeOf(prototype) === null && value.constructor?.name === "Object";
}
