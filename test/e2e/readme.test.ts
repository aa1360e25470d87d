import { readFile } from "node:fs/promises";
import { afterEach, expect, test, vi } from "vitest";
import { diagram } from "@ghouls/core";

const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), "utf8");

afterEach(() => {
  vi.restoreAllMocks();
});

test.each(["run", "delivery", "attempt"] as const)(
  "the README's diagram of a %s is the table of moves",
  async (noun) => {
    expect(await read("README.md")).toContain(diagram(noun));
  },
);

test("the README's first workflow is the example that npm start runs", async () => {
  expect(await read("README.md")).toContain(await read("packages/workflows/src/hello.ts"));
});

test.each(["purchase.ts", "purchase.test.ts"])(
  "the README's %s is the file that its tests run",
  async (name) => {
    expect(await read("README.md")).toContain((await read(`packages/workflows/src/${name}`)).trimEnd());
  },
);

test("every command of the changelog and the README exists", async () => {
  const { run } = await import("@ghouls/cli");
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
  const commands = [
    "init",
    "dev",
    "migrate",
    "keys",
    "submit",
    "runs",
    "show",
    "watch",
    "consents",
    "decide",
    "signal",
  ];
  for (const command of [...commands, "release", "cancel", "clear", "resolve", "doctor"]) {
    expect(await run([command, "--help"])).toBe(0);
  }
});
