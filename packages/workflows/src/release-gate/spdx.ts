import type { SpdxNode } from "spdx-expression-parse";
import parse from "spdx-expression-parse";

export type { SpdxLeaf, SpdxNode } from "spdx-expression-parse";

/** Longest expression that is parsed, in characters; the parser is recursive, and nobody reads a longer one. */
export const MAX_EXPRESSION = 2_000;

/** Parses an SPDX licence expression (SPDX 2.3, annex D); `undefined` for text that is none. */
export function parseExpression(text: string): SpdxNode | undefined {
  if (text.length > MAX_EXPRESSION) return undefined;
  try {
    return parse(text);
  } catch {
    return undefined; // the parser says "no" by throwing, and says nothing that a reader could use
  }
}

/** The one spelling under which free text is compared: trimmed, single spaces, lower case. */
export function spelling(text: string): string {
  return text.trim().replaceAll(/\s+/g, " ").toLowerCase();
}
