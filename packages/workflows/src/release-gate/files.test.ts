import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NonRetryableError } from "ghouls";
import { expect, test } from "vitest";
import { temporaryFolder } from "./fixtures.ts";
import { readable, readBounded, sha256 } from "./files.ts";

const limits = { what: "scroll", maxBytes: 5, fix: "Bring another." };

test("readBounded reads a file up to its limit, and not one byte more", async () => {
  const path = join(await temporaryFolder(), "a");
  await writeFile(path, "12345");
  await expect(readBounded(path, limits)).resolves.toBe("12345");
  await writeFile(path, "123456");
  await expect(readBounded(path, limits)).rejects.toThrow(
    `The scroll ${path} cannot be read: it has 6 bytes`,
  );
});

test.each([
  [tmpdir(), /it is not a file\. Bring another\./],
  ["/dev/zero", /it is not a file/], // would never end
  [join(tmpdir(), "no", "such"), /there is no such file or folder/],
])("readBounded refuses %s for good", async (path, message) => {
  await expect(readBounded(path, limits)).rejects.toThrow(message);
  await expect(readBounded(path, limits)).rejects.toBeInstanceOf(NonRetryableError);
});

test("readable falls back to the error's own message", () => {
  expect(readable(Object.assign(new Error("x"), { code: "EACCES" }))).toBe("this user may not touch it");
  expect(readable(Object.assign(new Error("odd"), { code: "EODD" }))).toBe("odd");
});

test("sha256 is the known digest of a text", () => {
  expect(sha256("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
});
