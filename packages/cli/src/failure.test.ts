import { createServer, type AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { GhoulsError } from "@ghouls/core";
import { LedgerError } from "@ghouls/ledger";
import { failureText, reportOf } from "./failure.ts";
import { ghouls } from "./fakes.support.ts";
import { processIo } from "./io.ts";

const unavailable = (cause: unknown) => new LedgerError("unavailable", "the migration", undefined, cause);
const coded = (code: string) => Object.assign(new Error("canary"), { code });

describe("a database that cannot be reached is told by what keeps it away, and never in the driver's words", () => {
  test.each([
    ["ENOTFOUND", "the database's host has no address", "Check the host"],
    ["ECONNREFUSED", "the database did not answer", "Check host and port"],
    ["EAI_AGAIN", "the database did not answer", "Check host and port"],
    ["28P01", "the database refused the user or the password", "%40"],
    ["28000", "the database refused the user or the password", "%40"],
    ["3D000", "there is no such database on the server", "Create it"],
    ["SELF_SIGNED_CERT_IN_CHAIN", "the database's certificate is not trusted", "sslrootcert"],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "the database's certificate is not trusted", "sslrootcert"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "the database's certificate is not trusted", "sslrootcert"],
  ])("%s", (code, what, fix) => {
    const report = reportOf(unavailable(coded(code)));
    expect(report).toEqual({ code, message: `${what} (${code})`, fix: expect.stringContaining(fix) });
  });

  test("a cause of ours speaks for itself", () => {
    const cause = new GhoulsError("configuration_invalid", "the secret s cannot be read", { fix: "Let it." });
    expect(reportOf(unavailable(cause))).toEqual({
      code: "configuration_invalid",
      message: "the secret s cannot be read",
      fix: "Let it.",
    });
  });

  test.each([
    ["a server that is full", unavailable(coded("53300"))],
    ["a cause without a code", unavailable(new Error("canary"))],
    ["a statement that was carried out or not", new LedgerError("unknown", "x", "57P01", coded("ENOTFOUND"))],
  ])("anything else keeps the ledger's words: %s", (_what, error) => {
    const report = reportOf(error);
    expect(report.message).toBe(error.message);
    expect(failureText(report, false)).not.toContain("canary");
  });
});

describe.each(["migrate", "doctor", "keys list"])("ghouls %s", (command) => {
  const refusal = async (url: string) => {
    const outcome = await ghouls([...command.split(" "), "--database-url", url], {
      ledger: processIo().ledger,
    });
    expect(outcome).toMatchObject({ code: 1, out: "" });
    expect(outcome.err).not.toContain("canary");
    return outcome.err;
  };

  test("says what is wrong with its connection string, and connects to nobody", async () => {
    let met = 0;
    const server = createServer((socket) => {
      met += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const at = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await refusal("postgres://u:canary@127.0.0.1:port/x")).toContain("a port that is no number");
    expect(await refusal(`mysql://u:canary@${at}/x`)).toContain("another scheme than postgres://");
    expect(await refusal("canary")).toContain("is no URL");
    const absent = `postgres://u:canary@${at}/x?sslmode=verify-full&sslrootcert=/absent/ca.pem`;
    expect(await refusal(absent)).toMatch(/\/absent\/ca\.pem, which cannot be read \(ENOENT\)\n {2}Fix: /);
    expect(met).toBe(0);
  });
});
