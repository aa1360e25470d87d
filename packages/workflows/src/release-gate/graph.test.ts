import { expect, test } from "vitest";
import { lockfileText } from "./fixtures.ts";
import { dependencyGraph } from "./graph.ts";
import { parseLockfile } from "./lockfile.ts";

test("a dependency is the nearest package upward, through links, and a missing one is left away", () => {
  const text = lockfileText({
    "": { name: "manor", dependencies: { a: "1" }, devDependencies: { own: "1" } },
    "node_modules/a": { version: "1.0.0", dependencies: { b: "2" }, peerDependencies: { absent: "*" } },
    "node_modules/a/node_modules/b": { version: "2.0.0", dependencies: { "@s/c": "1", a: "1" } },
    "node_modules/b": { version: "1.0.0", devDependencies: { a: "1" } },
    "node_modules/@s/c": { version: "1.0.0", optionalDependencies: { b: "1" } },
    "node_modules/own": { resolved: "packages/own", link: true },
    "packages/own": { version: "1.0.0", dependencies: { b: "1" }, devDependencies: { a: "1" } },
  });
  expect(Object.fromEntries(dependencyGraph(parseLockfile(text, "l.json")))).toEqual({
    "": ["node_modules/a", "packages/own"],
    "node_modules/a": ["node_modules/a/node_modules/b"],
    "node_modules/a/node_modules/b": ["node_modules/@s/c", "node_modules/a"],
    "node_modules/b": [],
    "node_modules/@s/c": ["node_modules/b"],
    "packages/own": ["node_modules/a", "node_modules/b"],
  });
});
