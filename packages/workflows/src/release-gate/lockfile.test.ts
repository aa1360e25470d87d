import { pathToFileURL } from "node:url";
import { NonRetryableError } from "ghouls";
import { describe, expect, test } from "vitest";
import { lockfileText } from "./fixtures.ts";
import { nearestLockfile, parseLockfile, readLockfile } from "./lockfile.ts";

const one = { "node_modules/a": { version: "1.0.0" } };
const parsed = (packages: Record<string, unknown>) =>
  parseLockfile(lockfileText(packages), "/x/package-lock.json");

describe("a file that is no usable lockfile is refused for good, with what to do", () => {
  test.each<[string, string, RegExp]>([
    ["not JSON", "# yarn lockfile v1", /is not JSON.*Only npm's package-lock\.json.*Make it anew/],
    [
      "version 1",
      lockfileText(one, { lockfileVersion: 1 }),
      /lockfileVersion 1; 2 and 3 are read.*npm 7 or later/,
    ],
    ["version 4", lockfileText(one, { lockfileVersion: 4 }), /lockfileVersion 4; 2 and 3/],
    ["a version that is a text", lockfileText(one, { lockfileVersion: "3" }), /lockfileVersion "3"/],
    ["no version", "{}", /no lockfileVersion/],
    ["null", "null", /no lockfileVersion/],
    ["an array", "[]", /no lockfileVersion/],
    ["no packages", '{"lockfileVersion":3}', /packages: /],
    ["empty packages", '{"lockfileVersion":3,"packages":{}}', /lists no packages/],
    ["only the project", lockfileText({}), /lists no packages beside the project/],
    [
      "an entry that is a text",
      lockfileText({ "node_modules/a": "1.0.0" }),
      /entry "node_modules\/a" is wrong/,
    ],
    [
      "an entry without version",
      lockfileText({ "node_modules/a": {} }),
      /entry "node_modules\/a" has no version/,
    ],
    ["a version that is a number", lockfileText({ "node_modules/a": { version: 1 } }), /version: /],
    [
      "a version with a NUL, which PostgreSQL refuses",
      lockfileText({ "node_modules/a": { version: "1\0" } }),
      /in no name/,
    ],
    ["half a character", lockfileText({ "node_modules/a": { version: "\ud800" } }), /in no name/],
    ["a scope without a name", lockfileText({ "node_modules/@a/": { version: "1" } }), /no package's name/],
    ["a path as a name", lockfileText({ "node_modules/a/../b": { version: "1" } }), /no package's name/],
    [
      "half a character as a name",
      lockfileText({ "node_modules/\ud800": { version: "1" } }),
      /no package's name/,
    ],
    ["an endless version", lockfileText({ "node_modules/a": { version: "1".repeat(257) } }), /version: /],
  ])("%s", (_, text, message) => {
    expect(() => parseLockfile(text, "/x/l.json")).toThrow(message);
    expect(() => parseLockfile(text, "/x/l.json")).toThrow(NonRetryableError);
  });

  test("a file that is not there", async () => {
    await expect(readLockfile("/no/such/package-lock.json")).rejects.toThrow(
      /Name an npm package-lock\.json/,
    );
  });
});

test("names are taken from the last node_modules, except for aliases, which would be judged as another package", () => {
  const { packages } = parsed({
    "node_modules/@a/b": { version: "1.0.0" },
    "node_modules/@a/b/node_modules/@c/d": { version: "2.0.0" },
    "node_modules/alias": { name: "real", version: "3.0.0" },
    "packages/own": {},
  });
  expect(packages.map(({ name }) => name)).toEqual(["@a/b", "@c/d", "real", "own"]);
});

test.each([
  [undefined, "registry"],
  ["https://registry.example.org/a/-/a-1.0.0.tgz", "registry"],
  ["git+ssh://git@github.com/a/a.git#0f", "git"],
  ["git://example.org/a.git", "git"],
  ["github:a/a#0f", "git"],
  ["file:../a.tgz", "file"],
])("resolved %s is of kind %s", (resolved, kind) => {
  expect(parsed({ "node_modules/a": { version: "1.0.0", resolved } }).packages[0]?.kind).toBe(kind);
});

test("workspaces are the project's own, what is nested in them is not, and links are no packages", () => {
  const { packages, links } = parsed({
    "packages/own": { version: "1.0.0", license: "UNLICENSED" },
    "packages/own/node_modules/a": { version: "1.0.0" },
    "node_modules/own": { resolved: "packages/own", link: true },
  });
  expect(packages.map(({ path, kind }) => [path, kind])).toEqual([
    ["packages/own", "workspace"],
    ["packages/own/node_modules/a", "registry"],
  ]);
  expect(links).toEqual(new Map([["node_modules/own", "packages/own"]]));
});

test("a token in a git URL is removed, so that it reaches neither the journal nor the bom", () => {
  const resolved = "git+https://token:secret@example.org/a.git#0f";
  const [found] = parsed({ "node_modules/a": { version: "1.0.0", resolved } }).packages;
  expect(found?.resolved).toBe("git+https://example.org/a.git#0f");
});

test("the old licenses field is read where license is missing", () => {
  const { packages } = parsed({ "node_modules/a": { version: "1.0.0", licenses: [{ type: "MIT" }] } });
  expect(packages[0]?.licence).toEqual([{ type: "MIT" }]);
});

test("packages are sorted by path, so that batches are the same whatever order the file has", () => {
  const a = { version: "1.0.0" };
  const paths = (packages: Record<string, unknown>) => parsed(packages).packages.map(({ path }) => path);
  expect(paths({ "node_modules/b": a, "node_modules/a": a })).toEqual(["node_modules/a", "node_modules/b"]);
});

test("a byte order mark, version 2, and a project without a name are read", () => {
  const text = `\uFEFF${JSON.stringify({ lockfileVersion: 2, packages: one })}`;
  const lockfile = parseLockfile(text, "/home/manor/package-lock.json");
  expect(lockfile.lockfileVersion).toBe(2);
  expect(lockfile.project.name).toBe("manor");
});

test("nearestLockfile finds this repository's own, and says what to do where there is none", async () => {
  const lockfile = await readLockfile(nearestLockfile(import.meta.url));
  expect(lockfile.packages.length).toBeGreaterThan(300);
  expect(() => nearestLockfile(pathToFileURL("/no/such/module.ts").href)).toThrow(/Name one as "lockfile"/);
});
