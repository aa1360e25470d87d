import { describe, expect, it } from "vitest";
import { namedDatabase } from "./database.ts";
import type { Io } from "./io.ts";

const world = (env: Io["env"]) => ({ env }) as Io;

describe("the database of a command", () => {
  it("is the option's, before any variable", () => {
    const io = world({ DATABASE_URL: "url", GHOULS_MIGRATION_DATABASE_URL: "migration" });
    expect(namedDatabase(io, "option", ["GHOULS_MIGRATION_", ""])).toEqual({ connectionString: "option" });
  });

  it("is the migrator's before the application's, as a string or as a secret", () => {
    const both = ["GHOULS_MIGRATION_", ""] as const;
    const application = { DATABASE_URL: "url" };
    expect(namedDatabase(world(application), undefined, both)).toEqual({ connectionString: "url" });
    const string = world({ ...application, GHOULS_MIGRATION_DATABASE_URL: "migration" });
    expect(namedDatabase(string, undefined, both)).toEqual({ connectionString: "migration" });
    const secret = world({ ...application, GHOULS_MIGRATION_DATABASE_SECRET_ARN: "arn" });
    expect(namedDatabase(secret, undefined, both)).toEqual({ connectionString: expect.any(Function) });
    expect(namedDatabase(world({ DATABASE_URL: "" }), undefined, both)).toBeUndefined();
  });

  it("is reached with the driver of the environment", () => {
    const io = world({ DATABASE_URL: "url", DATABASE_DRIVER: "neon", NEON_WS_PROXY: "127.0.0.1:1/v2" });
    const expected = { connectionString: "url", driver: "neon", neonProxy: "127.0.0.1:1/v2" };
    expect(namedDatabase(io, undefined, [""])).toEqual(expected);
  });

  it("is signed in to with a token where that is asked for", () => {
    const url = "postgres://app@h/x?sslmode=verify-full";
    const io = world({ DATABASE_URL: url, DATABASE_AUTH: "iam" });
    expect(namedDatabase(io, undefined, [""])).toEqual({
      connectionString: url,
      password: expect.any(Function),
    });
  });

  it.each([
    ["a driver", { DATABASE_URL: "url", DATABASE_DRIVER: "mysql" }, 'DATABASE_DRIVER is "mysql"'],
    ["a way to sign in", { DATABASE_URL: "url", DATABASE_AUTH: "kerberos" }, 'DATABASE_AUTH is "kerberos"'],
    ["both ways to name it", { DATABASE_URL: "url", DATABASE_SECRET_ARN: "arn" }, "one of both"],
  ])("is refused with %s that is not taken", (_what, env, message) => {
    expect(() => namedDatabase(world(env), undefined, [""])).toThrow(message);
  });
});
