import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GhoulsError } from "./errors.ts";
import { MAX_DEPTH, UnserializableError, canonicalText, parseJson, serialize } from "./json.ts";

function refusalOf(text: string): GhoulsError {
  try {
    parseJson(text);
  } catch (error) {
    if (error instanceof GhoulsError) return error;
    throw error;
  }
  throw new Error("it was taken");
}

describe("a document from outside", () => {
  test("is canonical with sorted keys and numbers as they were sent", () => {
    expect(parseJson('{"b": 1.10, "a": [1e2, -0, "x"]}').canonical).toBe('{"a":[1e2,-0,"x"],"b":1.10}');
  });

  test("has canonical members, and none that it inherits", () => {
    const document = parseJson('{"input": {"z": 1.0, "a": 2}}');
    expect(document.member("input")).toBe('{"a":2,"z":1.0}');
    expect(document.member("toString")).toBeUndefined();
  });

  test.each([
    ["a hundred thousand levels", "[".repeat(100_000) + "]".repeat(100_000), "malformed_json"],
    ["one level too many", "[".repeat(MAX_DEPTH + 1) + "]".repeat(MAX_DEPTH + 1), "malformed_json"],
    ["half a document", '{"a":', "malformed_json"],
    ["nothing", "", "malformed_json"],
    ["a key of prototypes", '{"a":{"__proto__":{"admin":true}}}', "invalid_request"],
    ["a constructor", '{"constructor":1}', "invalid_request"],
    ["NUL in a text", '["a\\u0000b"]', "invalid_request"],
    ["a lone surrogate", '["\\ud800"]', "invalid_request"],
    ["a lone surrogate in a key", '{"\\udc00":1}', "invalid_request"],
    ["a number beyond 2^53", '{"a":[9007199254740993]}', "invalid_request"],
    ["a number beyond every double", "1e400", "invalid_request"],
  ])("with %s is refused by name", (_name, text, code) => {
    const refused = refusalOf(text);
    expect(refused.code).toBe(code);
    expect(refused.fix).toBeTruthy();
  });

  test("a refusal names the path", () => {
    expect(refusalOf('{"a":[1,9007199254740993]}').issues).toEqual([
      { path: "/a/1", message: expect.stringContaining("2^53") },
    ]);
  });

  test("brackets inside texts are no nesting, and the deepest level that is allowed is taken", () => {
    expect(parseJson(JSON.stringify(["[".repeat(500), '\\"[[['])).value).toEqual(["[".repeat(500), '\\"[[[']);
    expect(parseJson("[".repeat(MAX_DEPTH) + "]".repeat(MAX_DEPTH)).canonical).toHaveLength(2 * MAX_DEPTH);
  });

  test("of any plain shape has one canonical text, whatever the order of its keys", () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string({ unit: "binary" }).filter((key) => key.isWellFormed()),
          fc.jsonValue(),
        ),
        (value) => {
          const reversed = Object.fromEntries(Object.entries(value).toReversed());
          expect(canonicalText(reversed)).toBe(canonicalText(value));
        },
      ),
    );
  });
});

describe("a value of user code", () => {
  test.each([
    ["undefined inside a list", [undefined]],
    ["NaN", { a: Number.NaN }],
    ["an infinity", Infinity],
    ["a bigint", 1n],
    ["a function", () => 1],
    ["a symbol", Symbol("x")],
    ["a Map", new Map()],
    ["an Error", new Error("x")],
    ["a class instance", new (class Report {})()],
    ["a promise", Promise.resolve(1)],
  ])("%s is refused, because JSON would change it in silence", (_name, value) => {
    expect(() => serialize(value)).toThrow(UnserializableError);
  });

  test("a cycle and a toJSON that throws are refused with a readable reason", () => {
    const cycle: Record<string, unknown> = {};
    cycle["self"] = { cycle };
    expect(() => serialize(cycle)).toThrow(/at \/self\/cycle is a cycle/);
    expect(() =>
      serialize({
        toJSON() {
          throw new Error("no");
        },
      }),
    ).toThrow(/cannot be turned into JSON: no/);
  });

  test("above the cap is refused by its bytes, not its characters", () => {
    expect(serialize("é".repeat(10), 22)).toBe(JSON.stringify("é".repeat(10)));
    expect(() => serialize("é".repeat(10), 21)).toThrow(/22 bytes/);
  });

  test("dates and undefined members become what a replay would see", () => {
    expect(serialize({ at: new Date(0), gone: undefined })).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
    expect(serialize(undefined)).toBeUndefined();
    expect(serialize(Object.create(null))).toBe("{}");
  });

  test("that JSON holds comes back equal", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false } as never), (value) => {
        const text = serialize(value) as string;
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});
