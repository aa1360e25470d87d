import { expect, test } from "vitest";
import type { DigestBasis } from "@ghouls/core";
import { differencesOf } from "./differences.ts";

const object = (properties: object) => ({ type: "object", properties });
const BASIS: DigestBasis = {
  tag: "t",
  name: "gate",
  version: 1,
  input: object({ name: { type: "string" }, "a/b": { type: "number" } }),
  output: null,
  modules: [
    ["gate.ts", "1"],
    ["lib/words.ts", "2"],
  ],
};

test("what is the same differs in nothing, in whatever order a text has it", () => {
  const { input, ...rest } = structuredClone(BASIS);
  expect(differencesOf(BASIS, { input, ...rest })).toEqual([]);
});

test("names each module, and the smallest part of a schema", () => {
  const after: DigestBasis = {
    tag: "u",
    name: "gate",
    version: 2,
    input: object({ name: { type: "number" }, "c~d": { type: "number" } }),
    output: { type: "string" },
    modules: [
      ["gate.ts", "3"],
      ["lib/late.ts", "2"],
    ],
  };
  expect(differencesOf(BASIS, after)).toEqual([
    { what: "version", how: "changed", where: "" },
    { what: "tag", how: "changed", where: "" },
    { what: "input", how: "removed", where: "/properties/a~1b" },
    { what: "input", how: "added", where: "/properties/c~0d" },
    { what: "input", how: "changed", where: "/properties/name/type" },
    { what: "output", how: "added", where: "" },
    { what: "module", how: "changed", where: "gate.ts" },
    { what: "module", how: "added", where: "lib/late.ts" },
    { what: "module", how: "removed", where: "lib/words.ts" },
  ]);
});

test("a schema that is gone is gone as a whole, and a list is one part", () => {
  const before = { ...BASIS, output: { enum: ["a"] } };
  expect(differencesOf(before, BASIS)).toEqual([{ what: "output", how: "removed", where: "" }]);
  expect(differencesOf(before, { ...BASIS, output: { enum: ["b"] } })).toEqual([
    { what: "output", how: "changed", where: "/enum" },
  ]);
});
