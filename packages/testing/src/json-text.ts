import { canonicalText, parseJson, serialize } from "@ghouls/core";

/**
 * A value as it comes over HTTP: canonical JSON, or undefined for none.
 * @throws UnserializableError for what JSON would drop or change
 */
export function jsonTextOf(value: unknown): string | undefined {
  const text = serialize(value);
  return text === undefined ? undefined : parseJson(text).canonical;
}

/** The same of a request, with the text of its input. */
export function requestTextOf(request: object): {
  readonly value: unknown;
  readonly canonical: string;
  readonly input: string;
} {
  const document = parseJson(serialize(request) ?? "null");
  const { value, canonical } = document;
  return { value, canonical, input: document.member("input") ?? canonicalText(null) };
}
