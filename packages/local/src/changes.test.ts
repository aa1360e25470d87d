import { expect, test } from "vitest";
import { changesBetween, describeChanges, leftPins } from "./changes.ts";

const before = { "gate@1": "a".repeat(64), "hello@1": "same", "old@2": "o".repeat(64) };
const after = { "gate@1": "b".repeat(64), "hello@1": "same", "new@1": "short" };

test("what changed is told by workflow, with the runs that stay pinned to what was before", () => {
  const changes = changesBetween(before, after);
  expect(leftPins(changes)).toEqual([
    { name: "gate", version: 1, digest: before["gate@1"] },
    { name: "old", version: 2, digest: before["old@2"] },
  ]);
  const open = leftPins(changes).map((pin, index) => ({ ...pin, runs: index + 1 }));
  expect(describeChanges(changes, open)).toEqual([
    "gate@1: aaaaaaaa… → bbbbbbbb…, 1 run is pinned to the old one",
    "new@1: short is new",
    "old@2: oooooooo… is gone, 2 runs are pinned to the old one",
  ]);
});

test("a manifest that is the same has no change", () => {
  expect(changesBetween(before, { ...before })).toEqual([]);
});
