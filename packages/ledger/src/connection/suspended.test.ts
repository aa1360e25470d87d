import { describe, expect, test } from "vitest";
import { isRefused, mayComeSoon } from "./suspended.ts";

const coded = (code: string, message = "x") => Object.assign(new Error(message), { code });

describe("a connection that could not be made", () => {
  test.each([
    ["refused by the system", coded("ECONNREFUSED")],
    ["reset", coded("ECONNRESET")],
    ["without an answer of the name server", coded("EAI_AGAIN")],
    ["to a server that starts", coded("57P03")],
    ["to a server that is full", coded("53300")],
    ["to a pooler without a server", coded("08P01")],
    ["dropped, as node-postgres says it", new Error("Connection terminated unexpectedly")],
    ["too slow for the pool", new Error("Connection terminated due to connection timeout")],
    ["too slow for the client", new Error("timeout expired")],
    ["as Neon's driver says it, without an Error", { type: "error", message: "" }],
  ])("may come soon: %s", (_why, error) => {
    expect(mayComeSoon(error)).toBe(true);
  });

  test.each([
    ["a wrong password", coded("28P01")],
    ["a password that a pooler does not take", coded("08P01", "SASL authentication failed")],
    ["a database that is not there", coded("3D000")],
    ["a host that is not there", coded("ENOTFOUND")],
    ["a certificate that is not trusted", coded("SELF_SIGNED_CERT_IN_CHAIN")],
    ["a server without TLS", new Error("The server does not support SSL connections")],
    ["a pool that has ended", new Error("Cannot use a pool after calling end on the pool")],
  ])("stays away: %s", (_why, error) => {
    expect(mayComeSoon(error)).toBe(false);
  });

  test.each([
    ["28P01", "x"],
    ["28000", "x"],
    ["08P01", "SASL authentication failed"],
    ["08P01", "password authentication failed"],
  ])("was refused by password or by role: %s %s", (code, message) => {
    expect(isRefused(coded(code, message))).toBe(true);
  });

  test.each([
    ["a pooler without a server", coded("08P01", "pgbouncer cannot connect to server")],
    ["a pooler that takes no startup parameter", coded("08P01", "unsupported startup parameter: options")],
    ["the words without a code", new Error("28P01 password authentication failed")],
    ["nothing", null],
  ])("was refused by nothing else: %s", (_why, error) => {
    expect(isRefused(error)).toBe(false);
  });
});
