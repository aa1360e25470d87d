import { afterEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import type { ConsentOptions, Principal } from "@ghouls/core";
import { testWorld } from "../support/world.ts";

const GRACE: Principal = { tenantId: "acme", subject: "user:grace", roles: ["legal"] };
const asks = workflow({
  name: "asks",
  version: 1,
  onWorkerLoss: "resume",
  input: z.object({ options: z.unknown() }),
  run: (ctx, { options }) =>
    ctx.consent("ship it", { deciders: ["role:legal"], ...(options as Partial<ConsentOptions>) }),
});
const world = await testWorld({ workflows: [asks] });
afterEach(() => world.reset());

async function asked(options: Partial<ConsentOptions> = {}) {
  const { runId } = await world.submit("asks", { options });
  await world.drain();
  const { consents } = await world.consents.list("acme", { runId }, { limit: 1 });
  return consents[0]!;
}

describe("who may decide", () => {
  test("a subject that is named like a role does not have it", async () => {
    const { consentId, digest } = await asked();
    const nobody: Principal = { tenantId: "acme", subject: "role:legal", roles: [] };
    const word = { verdict: "grant", digest } as const;
    await expect(world.consents.decide(nobody, consentId, word)).rejects.toMatchObject({
      code: "not_a_decider",
    });
    expect(await world.consents.decide(GRACE, consentId, word)).toMatchObject({ status: "GRANTED" });
  });

  test.each([
    ["zed", "user:zed", true],
    ["user:zed", "user:zed", true],
    ["zed", "user:ted", false],
    ["user:user:zed", "user:zed", false],
  ])("the subject %s is the decider %s: %s", async (subject, decider, decides) => {
    const { consentId, digest } = await asked({ deciders: [decider] });
    const deciding = world.consents.decide({ tenantId: "acme", subject, roles: [] }, consentId, {
      verdict: "grant",
      digest,
    });
    if (decides) expect(await deciding).toMatchObject({ status: "GRANTED" });
    else await expect(deciding).rejects.toMatchObject({ code: "not_a_decider" });
  });

  test("a word that is sent again after the consent's time is told so, and not that it is still open", async () => {
    const { consentId, digest, runId } = await asked({ quorum: 2, expires: "1h" });
    const word = { verdict: "grant", digest } as const;
    expect(await world.consents.decide(GRACE, consentId, word)).toMatchObject({ status: "PENDING" });
    expect(await world.consents.decide(GRACE, consentId, word)).toMatchObject({ repeated: true });
    await world.advance(3_601);
    await expect(world.consents.decide(GRACE, consentId, word)).rejects.toMatchObject({
      code: "consent_closed",
      message: expect.stringContaining("EXPIRED"),
    });
    await world.drain();
    expect(await world.view(runId)).toMatchObject({ status: "DONE", output: { outcome: "EXPIRED" } });
  });
});

describe("a list of consents", () => {
  test("names the one whose request was altered, and shows the others; read by itself it is a fault", async () => {
    const [altered, other] = [await asked(), await asked()];
    await world.db.admin(
      "update ghouls.consents set request_text = request_text || ' ' where consent_id = $1",
      [altered.consentId],
    );
    const { consents } = await world.consents.list("acme", {}, { limit: 10 });
    expect(consents.map(({ consentId, problem }) => [consentId, problem])).toEqual([
      [other.consentId, null],
      [altered.consentId, "its request disagrees with its digest"],
    ]);
    await expect(world.consents.get("acme", altered.consentId)).rejects.toMatchObject({
      code: "integrity_fault",
    });
    expect(await world.consents.get("acme", other.consentId)).toMatchObject({ status: "PENDING" });
  });

  test("fits into the answer of a function (6 MB), however long the details and comments are", async () => {
    const detail = "x".repeat(1_000_000);
    const [{ consentId, digest }] = [await asked({ detail, quorum: 2 }), await asked({ detail })];
    const comment = "why not? ".repeat(400).trim();
    await world.consents.decide(GRACE, consentId, { verdict: "grant", digest, comment });
    const page = await world.consents.list("acme", {}, { limit: 50 });
    expect(JSON.stringify(page)).not.toMatch(/xxx|why not/);
    expect(page.consents[1]).toMatchObject({ decisions: [{ by: "user:grace", verdict: "grant" }] });
    expect(await world.consents.get("acme", consentId)).toMatchObject({ detail, decisions: [{ comment }] });
  });
});

describe("the inbox of a person", () => {
  const titles = async (who: Principal) =>
    (await world.consents.inbox(who, { limit: 50 })).consents.map(({ deciders }) => deciders.join());

  test("has what waits for their word, by name or by a role, and nothing else", async () => {
    await asked();
    await asked({ deciders: ["user:grace"] });
    await asked({ deciders: ["role:board", "user:grace"] });
    await asked({ deciders: ["user:hopper"] });
    expect(await titles(GRACE)).toEqual(["role:board,user:grace", "user:grace", "role:legal"]);
    expect(await titles({ ...GRACE, subject: "grace", roles: [] })).toEqual([
      "role:board,user:grace",
      "user:grace",
    ]);
    expect(await titles({ ...GRACE, subject: "role:legal", roles: [] })).toEqual([]);
    expect(await titles({ ...GRACE, tenantId: "umbrella" })).toEqual([]);
  });

  test("has nothing that they asked for themselves, unless they may decide it all the same", async () => {
    const ada: Principal = { tenantId: "acme", subject: "user:ada", roles: ["legal"] };
    const { requestedBy } = await asked();
    expect(requestedBy).toBe(ada.subject);
    expect(await titles(ada)).toEqual([]);
    await asked({ requesterMayDecide: true });
    expect(await titles(ada)).toHaveLength(1);
  });

  test("has nothing that they have decided, that is closed, or whose time is over", async () => {
    const { consentId, digest } = await asked({ quorum: 2 });
    await world.consents.decide(GRACE, consentId, { verdict: "grant", digest });
    expect(await titles(GRACE)).toEqual([]);
    expect(await titles({ ...GRACE, subject: "user:hopper" })).toHaveLength(1);
    await asked({ expires: "1h" });
    expect(await titles(GRACE)).toHaveLength(1);
    await world.advance(3_601);
    expect(await titles(GRACE)).toEqual([]);
  });

  test("goes on behind a page", async () => {
    for (let count = 0; count < 3; count += 1) await asked();
    const first = await world.consents.inbox(GRACE, { limit: 2 });
    const rest = await world.consents.inbox(GRACE, { limit: 2, cursor: first.nextCursor ?? "" });
    const ids = [...first.consents, ...rest.consents].map(({ consentId }) => consentId);
    expect(new Set(ids).size).toBe(3);
    expect(rest.nextCursor).toBeNull();
  });
});
