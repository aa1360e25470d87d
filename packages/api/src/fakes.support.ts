import {
  BUILT_IN_ROLES,
  GhoulsError,
  callerOf,
  isRunId,
  type Caller,
  type Logger,
  type Principal,
  type wire,
} from "@ghouls/core";
import type {
  AdmissionRequest,
  AdmissionService,
  AttemptFilter,
  AttemptService,
  ConsentFilter,
  ConsentService,
  ControlService,
  ReadinessCheck,
  ReadService,
  RunFilter,
  SignalService,
} from "@ghouls/engine";
import { FakeEventParts } from "./fake-events.support.ts";
import { FakeIntegrity } from "./fake-integrity.support.ts";
import { FakePauses } from "./fake-pauses.support.ts";
import { FakeReconciler } from "./fake-reconciler.support.ts";
import type { AdmissionAppDependencies, ApiAppDependencies } from "./apps.ts";

/** In-memory stand-ins for the services behind the edge, for unit tests of the edge alone. */

export const RUN_ID = "0b0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c";
export const ABSENT_ID = "ffffffff-7d1c-4c39-9c53-0a4b7e1f2d3c";

export const ITEM_ID = "worker-1";

const AT = "2026-01-02T03:04:05.678Z";
const WORKFLOW = { name: "hello", version: 1, digest: "d1" };

const PRINCIPALS: Readonly<Record<string, Principal>> = {
  operator: { tenantId: "t1", subject: "olga", roles: ["operator"] },
  submitter: { tenantId: "t1", subject: "sam", roles: ["submitter"] },
  decider: { tenantId: "t1", subject: "dora", roles: ["decider"] },
  keeper: { tenantId: "t1", subject: "kate", roles: [], permissions: ["deployment:reconcile"] },
  nobody: { tenantId: "t1", subject: "nora", roles: ["__proto__", "toString"] },
  foreign: { tenantId: "t2", subject: "fred", roles: ["operator"] },
};

const ADMITTED: wire.Admitted = {
  runId: RUN_ID,
  created: true,
  status: "QUEUED",
  enqueueSeq: 1,
  workflow: WORKFLOW,
  queue: "runs",
  priority: 5,
  held: false,
  startsAt: null,
};

const VIEW: wire.RunView = {
  parentRunId: null,
  redriveOf: null,
  redrivenAs: null,
  runId: RUN_ID,
  workflow: WORKFLOW,
  status: "DONE",
  queue: "runs",
  priority: 5,
  agent: null,
  labels: {},
  idempotencyKey: null,
  requestedBy: "sam",
  enqueueSeq: 1,
  steps: 1,
  errorCode: null,
  attention: null,
  quarantine: null,
  pausedAt: null,
  pauses: [],
  deadlineAt: null,
  createdAt: AT,
  startsAt: null,
  startedAt: AT,
  finishedAt: AT,
  input: { name: "world" },
  output: { greeting: "Hello, world." },
  error: null,
  waits: [],
  reservations: [],
  bodiesEmptiedAt: null,
  containment: [],
};

/** As PostgreSQL does: a text that is no UUID is an error there, not an absent row. */
function castToUuid(runId: string): void {
  if (!isRunId(runId)) throw new Error(`22P02 invalid input syntax for type uuid: "${runId}"`);
}

class FakeAdmission implements AdmissionService {
  readonly admitted: { principal: Principal; request: AdmissionRequest }[] = [];
  readonly redriven: { subject: string; reason: string }[] = [];
  /** Thrown in place of any answer. */
  failure: { thrown: unknown } | undefined;

  #failIfTold(): void {
    if (this.failure !== undefined) throw this.failure.thrown;
  }

  async admit(principal: Principal, request: AdmissionRequest): Promise<wire.Admitted> {
    this.#failIfTold();
    this.admitted.push({ principal, request });
    return ADMITTED;
  }

  async admitBatch(principal: Principal, requests: readonly AdmissionRequest[]): Promise<wire.BatchAdmitted> {
    this.#failIfTold();
    this.admitted.push(...requests.map((request) => ({ principal, request })));
    return { runs: requests.map(() => ({ outcome: "admitted" as const, run: ADMITTED })) };
  }

  async release(principal: Principal, runId: string): Promise<wire.Released> {
    this.#failIfTold();
    castToUuid(runId);
    if (runId !== RUN_ID || principal.tenantId !== "t1")
      throw new GhoulsError("not_found", "There is no such run.");
    return { runId, enqueueSeq: 1, released: true };
  }

  async redrive(principal: Principal, runId: string, reason: string): Promise<wire.Redriven> {
    this.#failIfTold();
    castToUuid(runId);
    if (runId !== RUN_ID || principal.tenantId !== "t1")
      throw new GhoulsError("not_found", "There is no such run.");
    this.redriven.push({ subject: principal.subject, reason });
    const { created, status, enqueueSeq, workflow, queue, priority } = ADMITTED;
    const run = { created, status, enqueueSeq, workflow, queue, priority };
    return { ...run, runId: REDRIVEN_ID, redriveOf: runId, kept: 2, from: { kind: "step", name: "three" } };
  }
}

export const REDRIVEN_ID = "1c0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c";

class FakeControl implements ControlService {
  readonly acts: { subject: string; act: string; reason: string }[] = [];

  #check(principal: Principal, runId: string): void {
    castToUuid(runId);
    if (runId !== RUN_ID || principal.tenantId !== "t1") throw new GhoulsError("not_found", "Nothing there.");
  }

  async cancel(principal: Principal, runId: string, reason: string): Promise<wire.Cancelled> {
    this.#check(principal, runId);
    this.acts.push({ subject: principal.subject, act: "cancel", reason });
    return { runId, cancelled: true, status: "CANCELLING" };
  }

  async cancelMatching(
    principal: Principal,
    { filter, reason, dryRun = false }: wire.CancelMatchingRequest,
  ): Promise<wire.CancelledMatching> {
    const meant = JSON.stringify(filter);
    this.acts.push({ subject: principal.subject, act: `cancel ${principal.tenantId} ${meant}`, reason });
    return { dryRun, cancelled: 0, ending: 0, ended: 0, runs: [], nextCursor: null };
  }

  async clear(principal: Principal, runId: string, reason: string): Promise<wire.Cleared> {
    this.#check(principal, runId);
    this.acts.push({ subject: principal.subject, act: "clear", reason });
    return { runId, cleared: true, status: "QUEUED" };
  }

  async pause(principal: Principal, runId: string, reason: string): Promise<wire.RunPaused> {
    this.#check(principal, runId);
    this.acts.push({ subject: principal.subject, act: "pause", reason });
    return { runId, paused: true, status: "QUEUED", pauses: [] };
  }

  async unpause(principal: Principal, runId: string, reason: string): Promise<wire.RunUnpaused> {
    this.#check(principal, runId);
    this.acts.push({ subject: principal.subject, act: "unpause", reason });
    return { runId, unpaused: true, status: "QUEUED", pauses: [] };
  }

  async resolve(principal: Principal, runId: string, item: string, reason: string): Promise<wire.Resolved> {
    this.#check(principal, runId);
    if (item !== ITEM_ID) throw new GhoulsError("not_found", "No such item.");
    this.acts.push({ subject: principal.subject, act: `resolve ${item}`, reason });
    return { runId, item, openItems: 0, status: "CANCELLED" };
  }
}

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

class FakeConsents implements ConsentService {
  readonly words: { principal: Principal; word: unknown }[] = [];
  readonly lists: unknown[] = [];

  async get(tenantId: string, consentId: string): Promise<wire.ConsentView | undefined> {
    return tenantId === "t1" && consentId === CONSENT_ID ? CONSENT : undefined;
  }

  async list(tenantId: string, filter: ConsentFilter, page: object): Promise<wire.ConsentPage> {
    this.lists.push({ filter, page });
    return { consents: tenantId === "t1" ? [SUMMARY] : [], nextCursor: null };
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

class FakeAttempts implements AttemptService {
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

class FakeSignals implements SignalService {
  readonly sent: unknown[] = [];

  async send(principal: Principal, runId: string, signal: object): Promise<wire.Signalled> {
    castToUuid(runId);
    if (runId !== RUN_ID || principal.tenantId !== "t1") throw new GhoulsError("not_found", "Nothing there.");
    this.sent.push(signal);
    return { runId, signalId: CONSENT_ID, repeated: false, resumed: true };
  }
}

class FakeReads implements ReadService {
  readonly lists: { tenantId: string; filter: RunFilter; page: { limit: number; cursor?: string } }[] = [];
  failure: { thrown: unknown } | undefined;

  async getRun(tenantId: string, runId: string): Promise<wire.RunView | undefined> {
    if (this.failure !== undefined) throw this.failure.thrown;
    castToUuid(runId);
    return tenantId === "t1" && runId === RUN_ID ? VIEW : undefined;
  }

  async listRuns(
    tenantId: string,
    filter: RunFilter,
    page: { limit: number; cursor?: string },
  ): Promise<wire.RunPage> {
    this.lists.push({ tenantId, filter, page });
    const {
      input: _input,
      output: _output,
      error: _error,
      bodiesEmptiedAt: _emptied,
      containment: _items,
      waits: _waits,
      reservations: _reservations,
      ...summary
    } = VIEW;
    return { runs: tenantId === "t1" ? [summary] : [], nextCursor: null };
  }

  async getTimeline(tenantId: string, runId: string): Promise<wire.Timeline | undefined> {
    castToUuid(runId);
    if (tenantId !== "t1" || runId !== RUN_ID) return undefined;
    return { runId, status: "DONE", entries: [{ kind: "admitted", at: AT }] };
  }
}

export interface LogLine {
  readonly message: string;
  readonly fields: unknown;
}

export class Fakes extends FakeEventParts implements AdmissionAppDependencies, ApiAppDependencies {
  readonly admission = new FakeAdmission();
  readonly control = new FakeControl();
  readonly pauses = new FakePauses();
  readonly reconciler = new FakeReconciler();
  readonly integrity = new FakeIntegrity();
  readonly consents = new FakeConsents();
  readonly signals = new FakeSignals();
  readonly attempts = new FakeAttempts();
  readonly reads = new FakeReads();
  readonly lines: LogLine[] = [];
  readonly log: Logger;
  checks: () => Promise<readonly ReadinessCheck[]> = () =>
    Promise.resolve([{ name: "ledger", ok: true, detail: "answers" }]);

  constructor() {
    super();
    const keep = (message: string, fields?: unknown) => void this.lines.push({ message, fields });
    this.log = { debug: keep, info: keep, warn: keep, error: keep };
  }

  authenticate = (token: string): Promise<Caller | undefined> => {
    const known = Object.hasOwn(PRINCIPALS, token) ? PRINCIPALS[token] : undefined;
    return Promise.resolve(known && callerOf(known, BUILT_IN_ROLES));
  };
  readonly requestId = (): string => "generated-1";
  readonly workflows = (): wire.WorkflowList => ({
    workflows: [{ ...WORKFLOW, queue: "runs", onWorkerLoss: "resume", inputSchema: {}, outputSchema: null }],
  });
  readonly readiness = (): Promise<readonly ReadinessCheck[]> => this.checks();
}

/** A request to the application, as the operator unless told otherwise. */
export function ask(
  method: string,
  path: string,
  options: {
    token?: string | null;
    body?: NonNullable<RequestInit["body"]>;
    headers?: Record<string, string>;
    duplex?: "half";
  } = {},
): Request {
  const token = options.token === undefined ? "operator" : options.token;
  return new Request(`http://ghouls.test${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(options.body === undefined ? {} : { "content-type": "application/json" }),
      ...options.headers,
    },
    ...(options.body === undefined ? {} : { body: options.body }),
    ...(options.duplex === undefined ? {} : { duplex: options.duplex }),
  });
}
