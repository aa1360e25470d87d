import { describe, expect, it } from "vitest";
import { piecesOf } from "./hidden-characters.ts";

const hidden = (text: string): string[] =>
  piecesOf(text).flatMap((piece) => (piece.kind === "hidden" ? [piece.code] : []));

describe("hidden characters", () => {
  it("leaves a plain text whole, with its lines, tabs and pictures", () => {
    const text = "Ship it\tnow\n👩‍👩‍👧 ok — Ärger 日本";
    expect(piecesOf(text)).toEqual([{ kind: "text", text }]);
  });

  it("shows a direction that is turned around, between what stands before and behind it", () => {
    expect(piecesOf("pay \u202E001 to")).toEqual([
      { kind: "text", text: "pay " },
      { kind: "hidden", code: "U+202E", name: "right-to-left override" },
      { kind: "text", text: "001 to" },
    ]);
  });

  it.each([
    ["zero widths", "a\u200Bb\u2060c\uFEFF", ["U+200B", "U+2060", "U+FEFF"]],
    ["controls", "a\u0000b\u001B[31m\r", ["U+0000", "U+001B", "U+000D"]],
    ["isolates", "\u2066x\u2069", ["U+2066", "U+2069"]],
    ["tags outside the first plane", "a\u{E0041}", ["U+E0041"]],
    ["fillers and odd spaces", "a\u3164b\u00A0c", ["U+3164", "U+00A0"]],
    ["a joiner that joins letters", "a\u200Db", ["U+200D"]],
    ["half a character", "a\uD800", ["U+D800"]],
  ])("shows %s", (_, text, codes) => {
    expect(hidden(text)).toEqual(codes);
  });
});
