import { parseJson, type ParsedJson } from "@ghouls/core";

/** The texts by which the ledger knows a request. */
export interface RequestTexts {
  readonly canonicalRequest: string;
  readonly inputText: string;
}

const rawJson = JSON as unknown as { rawJSON(text: string): object };
const parseWithSource = JSON.parse as (
  text: string,
  reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown;

/** The texts of a single request. */
export function textsOf(json: ParsedJson): RequestTexts {
  return { canonicalRequest: json.canonical, inputText: json.member("input") ?? "null" };
}

/**
 * The texts of each member of a batch, which must have passed the schema. A member without its key has the same
 * canonical text as a single request of the same content, numbers as sent, so that both count as the same request.
 */
export function textsOfMembers(json: ParsedJson): RequestTexts[] {
  const runs = parseWithSource(json.member("runs") ?? "[]", (_key, value, context) =>
    typeof value === "number" ? rawJson.rawJSON(context.source ?? String(value)) : value,
  ) as Readonly<Record<string, unknown>>[];
  return runs.map((member) => {
    const { idempotencyKey: _key, ...request } = member;
    return textsOf(parseJson(JSON.stringify(request)));
  });
}
