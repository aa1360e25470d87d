import { mkdir, readFile, readdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it, test } from "vitest";
import { MARK, placeOf } from "./place.ts";
import { folder } from "./project.support.ts";

async function put(out: string, text: string): Promise<void> {
  const place = await placeOf(out);
  try {
    await place.fill(await folder({ "worker/index.mjs": text }), "a mark");
  } finally {
    await place.leave();
  }
}

it("makes the folder with its parents, and replaces what an earlier build put there", async () => {
  const root = await folder();
  const out = join(root, "a/b/c");
  await put(out, "one");
  await put(out, "two");
  expect(await readFile(join(out, "worker/index.mjs"), "utf8")).toBe("two");
  expect(await readdir(join(root, "a/b"))).toEqual(["c"]);
  expect(await readFile(join(out, MARK), "utf8")).toBe("a mark");
});

it("follows a link to the folder, and leaves the link", async () => {
  const root = await folder();
  await mkdir(join(root, "real"));
  await symlink("real", join(root, "link"));
  await put(join(root, "link"), "one");
  expect(await readdir(join(root, "real"))).toContain("worker");
});

it("leaves what was there where the new one cannot take its place", async () => {
  const out = join(await folder(), "out");
  await put(out, "one");
  const place = await placeOf(out);
  // Something is where the one before would be kept.
  const beside = (await readdir(dirname(out))).find((name) => name.startsWith("out.next-")) ?? "";
  await writeFile(join(dirname(out), beside, "before"), "");
  await expect(place.fill(await folder({ "worker/index.mjs": "two" }), "")).rejects.toMatchObject({
    code: "configuration_invalid",
    message: expect.stringContaining("nothing can be put at"),
  });
  await place.leave();
  expect(await readFile(join(out, "worker/index.mjs"), "utf8")).toBe("one");
});

test.each([
  ["a file", "file", "is no folder"],
  ["below a file", "file/functions", "is no folder"],
  // Made with its parents in one call, Node would never come back from it.
  ["where nothing can be made", "/proc/functions", "nothing can be put at /proc/functions"],
  ["deep where nothing can be made", "/proc/deep/functions", "nothing can be put at /proc/deep/functions"],
  ["a path that the system cannot look at", "x".repeat(300), "ENAMETOOLONG"],
])("%s is refused before anything is built", async (_what, path, words) => {
  const root = await folder({ file: "" });
  const out = path.startsWith("/") ? path : join(root, path);
  await expect(placeOf(out)).rejects.toMatchObject({
    code: "configuration_invalid",
    message: expect.stringContaining(words),
    fix: expect.stringContaining("--out"),
  });
});
