import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { NonRetryableError } from "ghouls";
import { expect, test } from "vitest";
import { temporaryFolder } from "./fixtures.ts";
import { sha256 } from "./files.ts";
import { writeAtomically } from "./write.ts";

const folder = () => temporaryFolder();

test("writes into a folder that it makes, and tells bytes and digest; a repeat changes nothing", async () => {
  const target = join(await folder(), "a", "b");
  const written = await writeAtomically(target, "x.json", "é");
  expect(written).toEqual({ path: join(target, "x.json"), bytes: 2, sha256: sha256("é") });
  expect(await writeAtomically(target, "x.json", "é")).toEqual(written);
  expect(await readdir(target)).toEqual(["x.json"]);
});

test("two writers at once leave one whole text, never a mixture", async () => {
  const target = await folder();
  const texts = ["a", "b", "c", "d"].map((letter) => letter.repeat(200_000));
  await Promise.all(texts.map((text) => writeAtomically(target, "x", text)));
  expect(texts).toContain(await readFile(join(target, "x"), "utf8"));
  expect(await readdir(target)).toEqual(["x"]);
});

test("a failed write leaves no temporary file, keeps the old one, and says what to do", async () => {
  const target = await folder();
  await mkdir(join(target, "x", "taken"), { recursive: true }); // a file cannot be renamed over a folder
  const failed = writeAtomically(target, "x", "text");
  await expect(failed).rejects.toThrow(/cannot be written: .*Name another folder as "output"/);
  await expect(failed).rejects.toBeInstanceOf(NonRetryableError);
  expect(await readdir(target)).toEqual(["x"]);
});

test("a file where the folder should be is named as the cause", async () => {
  const target = await folder();
  await writeFile(join(target, "file"), "");
  await expect(writeAtomically(join(target, "file"), "x", "")).rejects.toThrow(
    /a file of that name is in the way/,
  );
  await expect(writeAtomically(join(target, "file", "deeper"), "x", "")).rejects.toThrow(
    /is a file, not a folder/,
  );
});
