import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { hello } from "./hello.ts";

type Context = Parameters<typeof hello.run>[0];

test("greets in one step", async () => {
  const steps: string[] = [];
  const step = (name: string, body: () => unknown) => {
    steps.push(name);
    return body();
  };
  const greeting = await hello.run({ step } as unknown as Context, { name: "Ghouls" });
  expect(greeting).toEqual({ greeting: "Good evening, Ghouls." });
  expect(steps).toEqual(["greet"]);
});

test("stays within twelve lines, as the README begins with it", async () => {
  const text = await readFile(new URL("hello.ts", import.meta.url), "utf8");
  expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(12);
});
