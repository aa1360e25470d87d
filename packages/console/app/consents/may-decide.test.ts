import type { wire } from "@ghouls/core";
import { describe, expect, it } from "vitest";
import { reasonAgainst } from "./may-decide.ts";

const NOW = Date.parse("2030-01-31T12:00:00Z");
const ME: wire.Whoami = {
  tenantId: "acme",
  subject: "user:grace",
  roles: ["legal"],
  permissions: ["consents:decide"],
};
const CONSENT = {
  deciders: ["role:legal"],
  decisions: [],
  requestedBy: "user:ada",
  requesterMayDecide: false,
  expiresAt: "2030-02-01T00:00:00Z",
} satisfies Parameters<typeof reasonAgainst>[0];
const word = { by: "user:grace", verdict: "grant" as const, at: "2030-01-31T11:00:00Z", comment: null };

describe("who may decide", () => {
  it("is whoever its deciders name, by role or by name", () => {
    expect(reasonAgainst(CONSENT, ME, NOW)).toBeUndefined();
    expect(
      reasonAgainst({ ...CONSENT, deciders: ["user:grace"] }, { ...ME, roles: [] }, NOW),
    ).toBeUndefined();
  });

  it.each([
    ["lacks the permission", CONSENT, { ...ME, permissions: [] }, "it lacks the permission consents:decide"],
    ["is not named", CONSENT, { ...ME, roles: [] }, "This is for role:legal to decide."],
    ["asked for it", { ...CONSENT, requestedBy: "user:grace" }, ME, "somebody else has to decide"],
    ["has decided", { ...CONSENT, decisions: [word] }, ME, "You have granted it"],
    ["comes too late", { ...CONSENT, expiresAt: "2030-01-31T12:00:00Z" }, ME, "Its time is over."],
  ] as const)("is nobody who %s", (_, consent, me, told) => {
    expect(reasonAgainst(consent as typeof CONSENT, me as wire.Whoami, NOW)).toContain(told);
  });
});
