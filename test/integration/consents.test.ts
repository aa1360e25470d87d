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
