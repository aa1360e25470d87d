import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { API_KEY_BYTES, isSameDigest, mintApiKey, parseApiKey } from "./api-key.ts";

const bytes = fc.uint8Array({ minLength: API_KEY_BYTES, maxLength: API_KEY_BYTES });

describe("the text of a key", () => {
  test("is the same for the same bytes, for good: keys outlive versions", () => {
    expect(mintApiKey(new Uint8Array(API_KEY_BYTES).fill(0xab))).toEqual({
      keyId: "abababababababab",
      text: "ghouls_abababababababab_ehv1hsdOHPxDuX3xn9YyIKbgl4yJuySCWzdimD4heup1R5Xyn",
      digest: "b415bff328d6516bc001603d1afa2fe600b275774d939990011892f3f2448b46",
    });
  });

  test("says which key it is and gives its digest, and goes through an Authorization header", () => {
    fc.assert(
      fc.property(bytes, (random) => {
        const { keyId, text, digest } = mintApiKey(random);
        expect(parseApiKey(text)).toEqual({ keyId, digest });
        expect(text).toMatch(/^\w{73}$/);
      }),
    );
  });

  test("with one character mistaken is known by its checksum, without a look at the ledger", () => {
    fc.assert(
      fc.property(bytes, fc.nat(72), fc.constantFrom("0", "a", "Z", "_"), (random, at, other) => {
        const { text } = mintApiKey(random);
        const mistaken = `${text.slice(0, at)}${other}${text.slice(at + 1)}`;
        expect(parseApiKey(mistaken) === undefined).toBe(mistaken !== text);
      }),
    );
  });

  test.each(["", "ghouls_", "ghouls_abababababababab_", "operator", "a".repeat(73), "__proto__"])(
    "is not %j",
    (text) => {
      expect(parseApiKey(text)).toBeUndefined();
    },
  );

  test("is made of the right number of random bytes only", () => {
    expect(() => mintApiKey(new Uint8Array(API_KEY_BYTES - 1))).toThrow(TypeError);
    expect(() => mintApiKey(new Uint8Array(API_KEY_BYTES + 1))).toThrow(TypeError);
  });
});

test("digests are compared in constant time, and those of another length are different instead of an error", () => {
  expect(isSameDigest("ab", "ab")).toBe(true);
  expect(isSameDigest("ab", "ac")).toBe(false);
  expect(isSameDigest("ab", "abc")).toBe(false);
  expect(isSameDigest("", "a")).toBe(false);
});
