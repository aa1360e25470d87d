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
import { AT, CONSENT_ID, FakeAttempts, FakeConsents, RUN_ID } from "./fake-waits.support.ts";
import type { AdmissionAppDependencies, ApiAppDependencies } from "./apps.ts";

/** In-memory stand-ins for the services behind the edge, for unit tests of the edge alone. */

export { ATTEMPT_ID, CALLBACK_TOKEN, CONSENT_ID, RUN_ID } from "./fake-waits.support.ts";
export const ABSENT_ID = "ffffffff-7d1c-4c39-9c53-0a4b7e1f2d3c";

export const ITEM_ID = "worker-1";

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
  readonly counts: unknown[] = [];
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

  async getEvidence(tenantId: string, runId: string): Promise<wire.RunEvidence | undefined> {
    castToUuid(runId);
    if (tenantId !== "t1" || runId !== RUN_ID) return undefined;
    return { runId, terminal: null, rejected: [], copies: [], nextCursor: null };
  }

  async getTimeline(tenantId: string, runId: string): Promise<wire.Timeline | undefined> {
    castToUuid(runId);
    if (tenantId !== "t1" || runId !== RUN_ID) return undefined;
    return { runId, status: "DONE", entries: [{ kind: "admitted", at: AT }] };
  }

  async countRuns(tenantId: string, filter: object, hours: number): Promise<wire.RunCounts> {
    this.counts.push({ tenantId, filter, hours });
    return {
      since: AT,
      bucketSeconds: 60,
      counted: 1,
      complete: true,
      buckets: [{ at: AT, statuses: { DONE: 1 } }],
    };
  }

  async listPinned(): Promise<wire.PinnedList> {
    const pin = { name: "hello", version: 1, digest: "d1" };
    return { pinned: [{ ...pin, openRuns: 2, oldestAt: AT, held: "build" }], complete: true };
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
