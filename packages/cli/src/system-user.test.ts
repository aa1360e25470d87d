import { userInfo } from "node:os";
import { expect, it } from "vitest";
import { systemUser } from "./system-user.ts";

it("is the user of the system by name, else by number", () => {
  expect(systemUser()).toBe(userInfo().username);
  const nameless = () => {
    throw new Error("ENOENT: no such user");
  };
  expect(systemUser(nameless)).toMatch(/^user \d+$/);
});
