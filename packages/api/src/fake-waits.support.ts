import { GhoulsError, type Principal, type wire } from "@ghouls/core";
import type { AttemptFilter, AttemptService, ConsentFilter, ConsentService } from "@ghouls/engine";

/** What stands for consents and delegated jobs behind the edge. */

export const RUN_ID = "0b0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c";
export const AT = "2026-01-02T03:04:05.678Z";

export const CONSENT_ID = "6f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f1";
const SUMMARY: wire.ConsentSummary = {
  consentId: CONSENT_ID,
  runId: RUN_ID,
  workflow: "hello",
  title: "ship it",
  status: "PENDING",
  digest: "of the request",
  deciders: ["role:legal"],
  quorum: 1,
  requestedBy: "sam",
  requesterMayDecide: false,
  onExpiry: "expire",
  source: null,
  createdAt: AT,
  expiresAt: null,
  closedAt: null,
  closedBy: null,
  decisions: [],
  problem: null,
};
const { problem: _, ...SHOWN } = SUMMARY;
const CONSENT: wire.ConsentView = { ...SHOWN, detail: null, decisions: [] };

export class FakeConsents implements ConsentService {
  readonly words: { principal: Principal; word: unknown }[] = [];
  readonly lists: unknown[] = [];

  async get(tenantId: string, consentId: string): Promise<wire.ConsentView | undefined> {
    return tenantId === "t1" && consentId === CONSENT_ID ? CONSENT : undefined;
  }

  async list(tenantId: string, filter: ConsentFilter, page: object): Promise<wire.ConsentPage> {
    this.lists.push({ filter, page });
    return { consents: tenantId === "t1" ? [SUMMARY] : [], nextCursor: null };
  }

  async inbox(principal: Principal, page: object): Promise<wire.ConsentPage> {
    this.lists.push({ mine: principal.subject, page });
    return { consents: [SUMMARY], nextCursor: null };
  }

  async decide(principal: Principal, consentId: string, word: object): Promise<wire.Decided> {
    if (consentId !== CONSENT_ID || principal.tenantId !== "t1")
      throw new GhoulsError("not_found", "Nothing there.");
    this.words.push({ principal, word });
    return { consentId, runId: RUN_ID, status: "GRANTED", repeated: false, resumed: true };
  }
}

export const ATTEMPT_ID = "7f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f2";
export const CALLBACK_TOKEN = "A".repeat(43);
const ATTEMPT: wire.AttemptSummary = {
  attemptId: ATTEMPT_ID,
  runId: RUN_ID,
  workflow: "hello",
  name: "sign",
  status: "UNCERTAIN",
  service: "signer",
  executor: { adapter: "http", version: "1", digest: "of the executor" },
  digest: "of the request",
  idempotencyKey: "ghouls-1",
  submissions: 1,
  uncertain: "503",
  trouble: null,
  cancelling: null,
  contradiction: null,
  createdAt: AT,
  acknowledgedAt: null,
  heartbeatAt: null,
  deadlineAt: null,
  nextLookAt: AT,
  closedAt: null,
  closedBy: null,
};

export class FakeAttempts implements AttemptService {
  readonly reports: unknown[] = [];
  readonly words: unknown[] = [];
  readonly lists: unknown[] = [];

  async get(tenantId: string, attemptId: string): Promise<wire.AttemptView | undefined> {
    if (tenantId !== "t1" || attemptId !== ATTEMPT_ID) return undefined;
    return { ...ATTEMPT, request: {}, result: null, error: null };
  }

  async list(tenantId: string, filter: AttemptFilter, page: object): Promise<wire.AttemptPage> {
    this.lists.push({ filter, page });
    return { attempts: tenantId === "t1" ? [ATTEMPT] : [], nextCursor: null };
  }

  async report(attemptId: string, token: string | undefined, report: object): Promise<wire.Reported> {
    if (attemptId !== ATTEMPT_ID || token !== CALLBACK_TOKEN) throw new GhoulsError("unauthenticated", "No.");
    this.reports.push(report);
    return { attemptId, status: "SUCCEEDED" };
  }

  async resolve(principal: Principal, attemptId: string, word: object): Promise<wire.AttemptResolved> {
    if (principal.tenantId !== "t1" || attemptId !== ATTEMPT_ID)
      throw new GhoulsError("not_found", "Nothing there.");
    this.words.push({ subject: principal.subject, word });
    return { attemptId, runId: RUN_ID, status: "CANCELLED", resumed: true };
  }
}
