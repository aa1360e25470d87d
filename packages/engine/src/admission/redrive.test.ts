import { expect, test } from "vitest";
import { noFaults, type GhoulsError } from "@ghouls/core";
import { REDRIVE_REFUSALS, type Ledger, type RedriveAnswer, type StoredRun } from "@ghouls/ledger";
import { Registry } from "../registry.ts";
import { redrive } from "./redrive.ts";

const RUN_ID = "0b0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c";
const SOMEBODY = { tenantId: "acme", subject: "user:ada", roles: [] };

/** What a redrive says where the ledger answers so. */
async function said(answer: RedriveAnswer | null): Promise<GhoulsError> {
  const workflow = { name: "hello", version: 1, digest: "d1" };
  const run = { runId: RUN_ID, status: "QUEUED", workflow } as StoredRun;
  const runs = { get: () => Promise.resolve(run), redrive: () => Promise.resolve(answer) };
  const options = {
    ledger: { runs } as unknown as Ledger,
    registry: new Registry([]),
    announce: () => Promise.resolve(),
    ids: { next: () => "new" },
    faults: noFaults,
    publish: () => Promise.resolve(),
    settings: { publisherGraceSeconds: 15 },
  };
  return redrive(options, SOMEBODY, RUN_ID, "x").then(
    () => Promise.reject(new Error("it was not refused")),
    (error: unknown) => error as GhoulsError,
  );
}

test.each(REDRIVE_REFUSALS)("%s is said by name, in words, with what it is about and a fix", async (why) => {
  const error = await said({ kind: "refused", why, about: "RUNNING" });
  expect(error).toMatchObject({ code: "not_redrivable", issues: [{ path: `/${why}` }] });
  expect(error.message).toMatch(why === "quarantined" ? RUN_ID : "RUNNING");
  expect(error.fix).toMatch(/[a-z]/);
});

test("a run that is done has another fix than one that goes on", async () => {
  const error = await said({ kind: "refused", why: "not_ended", about: "DONE" });
  expect(error.fix).toBe("Submit a new run.");
});

test("a run that is ending is cancelled by nobody, and the fix does not say so", async () => {
  const fixOf = async (about: string) => (await said({ kind: "refused", why: "not_ended", about })).fix;
  expect(await fixOf("FAILING")).toBe("Wait for its end; `ghouls show` tells whether it waits for a person.");
  expect(await fixOf("RUNNING")).toBe("Wait for its end, or cancel it.");
});

test("a run that went away meanwhile is absent", async () => {
  expect(await said(null)).toMatchObject({ code: "not_found" });
});
