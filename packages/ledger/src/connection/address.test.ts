import { inspect } from "node:util";
import { GhoulsError } from "@ghouls/core";
import { describe, expect, test } from "vitest";
import { addressOf } from "./address.ts";

function refused(connectionString: string): GhoulsError {
  try {
    addressOf(connectionString);
  } catch (error) {
    expect(error).toBeInstanceOf(GhoulsError);
    return error as GhoulsError;
  }
  throw new Error("it was taken");
}

describe("a connection string is refused before anything connects, without a word of its password, where it", () => {
  test.each([
    ["is empty", "", "is no URL"],
    ["is a password", "canary", "is no URL"],
    ["is a path", "/canary", "is no URL"],
    ["is another database's", "mysql://u:canary@h/x", "has another scheme than postgres://"],
    ["is a page", "https://u:canary@h/x", "has another scheme than postgres://"],
    ["has a port in words", "postgres://u:canary@h:port/x", "has a port that is no number"],
    ["has a port that is too large", "postgres://u:canary@h:99999/x", "has a port that is no number"],
    ["has the port 0", "postgres://u:canary@h:0/x", "has a port that is no number"],
    ["has a bad port in its query", "postgres://u:canary@h/x?port=0x", "has a port that is no number"],
    ["has a slash in its password", "postgres://u:can/canary@h/x", "has a port that is no number"],
    ["has a host that is none", "postgres://u:canary@[::1/x", "cannot be read"],
    ["has an escape that is none", "postgres://u:canary%FF@h/x", "cannot be read"],
  ])("%s", (_what, connectionString, why) => {
    const error = refused(connectionString);
    expect(error.code).toBe("configuration_invalid");
    expect(error.message).toContain(`the connection string ${why}`);
    expect(error.fix).toContain("postgres://user:password@host:port/database");
    expect(inspect(error, { depth: 10, showHidden: true })).not.toMatch(/canary|can\b/);
  });

  test.each(["sslrootcert", "sslcert", "sslkey"])("names a file as its %s that is not there", (name) => {
    const { message } = refused(`postgres://u:canary@h/x?sslmode=verify-full&${name}=/absent/ca.pem`);
    expect(message).toBe(
      "the connection string names the file /absent/ca.pem, which cannot be read (ENOENT)",
    );
  });
});

test.each([
  ["postgres://u:p@h/x", { host: "h", user: "u", password: "p", database: "x" }],
  ["postgresql://u:p@h:6432/x", { host: "h", port: 6432 }],
  [
    "postgres://u:p%40%2F@[::1]:5432/x?sslmode=disable",
    { host: "::1", port: 5432, password: "p@/", ssl: false },
  ],
  ["postgres://u:p@/x?host=/var/run/postgresql", { host: "/var/run/postgresql", database: "x" }],
])("%s is read", (connectionString, parts) => {
  expect(addressOf(connectionString)).toMatchObject(parts);
});
