import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { write } from "../pack/project.ts";
import { platformIsCurrent } from "./platform.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "ghouls-platform-"));
  write(root, { "node_modules/sst/package.json": `{ "version": "4.17.1" }` });
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

describe("the platform is unpacked again where", () => {
  it("it is not there", () => {
    expect(platformIsCurrent(root)).toBe(false);
  });

  it("it is of another version than npm's", () => {
    write(root, { ".sst/platform/version": "4.16.0", ".sst/provider-lock.json": "[]" });
    expect(platformIsCurrent(root)).toBe(false);
  });

  it("unpacking it was interrupted", () => {
    write(root, { ".sst/platform/version": "4.17.1" });
    expect(platformIsCurrent(root)).toBe(false);
  });
});

describe("the platform is left alone where", () => {
  it("it is complete and of npm's version", () => {
    write(root, { ".sst/platform/version": "4.17.1", ".sst/provider-lock.json": "[]" });
    expect(platformIsCurrent(root)).toBe(true);
  });
});
