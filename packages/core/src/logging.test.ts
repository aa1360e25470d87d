import { describe, expect, test } from "vitest";
import { GhoulsError } from "./errors.ts";
import { errorInLog } from "./logging.ts";

const SECRET = "hunter2";

describe("what a log holds of an error", () => {
  const looked = new Proxy(
    {},
    {
      has: () => {
        throw new Error(SECRET);
      },
    },
  );
  test.each<[string, unknown, string]>([
    ["of ours: its code", new GhoulsError("not_found", SECRET), "GhoulsError not_found"],
    ["of any other: its name", new TypeError(SECRET), "TypeError"],
    [
      "of the network: its code too",
      Object.assign(new Error(SECRET), { code: "ECONNREFUSED" }),
      "Error ECONNREFUSED",
    ],
    ["a code that is a sentence is none", Object.assign(new Error(SECRET), { code: SECRET }), "Error"],
    ["a name that is a sentence is none", Object.assign(new Error(SECRET), { name: `a ${SECRET}` }), "Error"],
    ["a string that was thrown", SECRET, "Error"],
    ["nothing at all", undefined, "Error"],
    ["what throws when it is looked at", looked, "Error"],
  ])("%s", (_what, error, said) => {
    expect(errorInLog(error)).toBe(said);
    expect(errorInLog(error)).not.toContain(SECRET);
  });
});
