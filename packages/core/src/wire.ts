import * as z from "zod";
import { DELIVERY_CAUSES, DELIVERY_OUTCOMES, statesOf } from "./transitions.ts";
import { isDuration } from "./duration.ts";
import { QUEUE_NAME } from "./settings.ts";
import { RUN_FAILURE_CODES } from "./run.ts";
import { CALL_KINDS } from "./call.ts";
import { ON_EXPIRY, VERDICTS } from "./waits.ts";

/** The shapes that travel over HTTP, shared by the API, the client and the command. Times are ISO 8601 in UTC. */

export const MAX_BODY_BYTES = 1_048_576;
export const MAX_BATCH = 100;
export const MAX_PAGE = 200;

const time = z.iso.datetime();
/** Names of workflows. */
export const WORKFLOW_NAME = /^[a-z0-9][a-z0-9._-]{0,99}$/i;
const name = z.string().regex(WORKFLOW_NAME, 'letters, digits, ".", "_" and "-", at most 100');

export const IdempotencyKey = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[\x21-\x7e]+$/, "printable ASCII without spaces");

export const RunRequest = z.strictObject({
  /** Where it is absent, the configuration's `route` chooses. */
  workflow: name.optional(),
  /** The newest registered version where absent. */
  version: z.int().min(1).max(1_000_000).optional(),
  input: z.unknown().optional(),
  queue: z.string().regex(QUEUE_NAME).optional(),
  /** 0 to 9, 9 first. */
  priority: z.int().min(0).max(9).optional(),
  agent: z.string().min(1).max(200).optional(),
  /** Commits the run with its delivery HELD: nothing moves until it is released. */
  held: z.boolean().optional(),
  /** How long a hold may last; "1h" by default. */
  holdFor: z.string().refine(isDuration, 'such as "10m"').optional(),
  /** Nothing of the run happens before: a duration from its admission, or a moment. Its deadline counts from there. */
  startAfter: z
    .string()
    .refine(
      (text) => isDuration(text) || time.safeParse(text).success,
      'such as "2h" or "2030-01-31T08:00:00Z"',
    )
    .optional(),
});
export type RunRequest = z.infer<typeof RunRequest>;

export const BatchItem = RunRequest.extend({ idempotencyKey: IdempotencyKey.optional() });
export const BatchRequest = z.strictObject({ runs: z.array(BatchItem).min(1).max(MAX_BATCH) });
export type BatchRequest = z.infer<typeof BatchRequest>;

export const WorkflowRef = z.object({ name: z.string(), version: z.int(), digest: z.string() });

/** The answer of an admission. */
export const Admitted = z.object({
  runId: z.string(),
  /** False where the idempotency key had been used for the same request. */
  created: z.boolean(),
  status: z.enum(statesOf("run")),
  enqueueSeq: z.int(),
  workflow: WorkflowRef,
  queue: z.string(),
  priority: z.int(),
  held: z.boolean(),
  /** When it starts, where that was asked for and lies ahead. */
  startsAt: time.nullable(),
});
export type Admitted = z.infer<typeof Admitted>;

export const BatchOutcome = z.discriminatedUnion("outcome", [
  z.object({ outcome: z.literal("admitted"), run: Admitted }),
  z.object({ outcome: z.literal("conflict"), idempotencyKey: z.string(), detail: z.string() }),
]);
export const BatchAdmitted = z.object({ runs: z.array(BatchOutcome) });
export type BatchAdmitted = z.infer<typeof BatchAdmitted>;

export const Released = z.object({
  runId: z.string(),
  enqueueSeq: z.int(),
  /** False where it had been released before. */
  released: z.boolean(),
});
export type Released = z.infer<typeof Released>;

const Flag = z.object({ reason: z.string(), at: time });

export const RunSummary = z.object({
  runId: z.string(),
  workflow: WorkflowRef,
  status: z.enum(statesOf("run")),
  queue: z.string(),
  priority: z.int(),
  agent: z.string().nullable(),
  idempotencyKey: z.string().nullable(),
  requestedBy: z.string(),
  enqueueSeq: z.int(),
  steps: z.int(),
  errorCode: z.string().nullable(),
  attention: Flag.nullable(),
  quarantine: Flag.nullable(),
  pausedAt: time.nullable(),
  deadlineAt: time.nullable(),
  createdAt: time,
  /** When its code starts, or has started anew by `ctx.restart`; null where it started at once. */
  startsAt: time.nullable(),
  startedAt: time.nullable(),
  finishedAt: time.nullable(),
});
export type RunSummary = z.infer<typeof RunSummary>;

export const RunError = z.object({
  code: z.enum(RUN_FAILURE_CODES),
  name: z.string(),
  message: z.string(),
  stack: z.string().optional(),
  step: z.string().optional(),
});

/** One thing that a run started and that may still act, or whose outcome nobody knows. */
export const ContainmentItem = z.object({
  id: z.string(),
  kind: z.enum(["worker", "effect"]),
  /** The worker's name, or the effect's step. */
  subject: z.string(),
  enqueueSeq: z.int(),
  /** When nothing of it can still act; null where only a word can tell. */
  overAt: time.nullable(),
  createdAt: time,
  acknowledgedAt: time.nullable(),
  acknowledgedBy: z.string().nullable(),
  acknowledgement: z.string().nullable(),
});
export type ContainmentItem = z.infer<typeof ContainmentItem>;

/** The word of whoever cancels a run or settles an item; it is kept. */
export const ReasonRequest = z.strictObject({ reason: z.string().trim().min(1).max(1_000) });
export type ReasonRequest = z.infer<typeof ReasonRequest>;

export const Cancelled = z.object({
  runId: z.string(),
  /** False where the run had been decided before: `status` says how. */
  cancelled: z.boolean(),
  status: z.enum(statesOf("run")),
});
export type Cancelled = z.infer<typeof Cancelled>;

export const Resolved = z.object({
  runId: z.string(),
  item: z.string(),
  /** What is left to acknowledge. */
  openItems: z.int(),
  status: z.enum(statesOf("run")),
});
export type Resolved = z.infer<typeof Resolved>;

export const Cleared = z.object({
  runId: z.string(),
  /** False where the run was not quarantined. */
  cleared: z.boolean(),
  status: z.enum(statesOf("run")),
});
export type Cleared = z.infer<typeof Cleared>;

export const ConsentView = z.object({
  consentId: z.string(),
  runId: z.string(),
  workflow: z.string(),
  title: z.string(),
  status: z.enum(statesOf("consent")),
  /** Of the frozen request; a decision has to name it. */
  digest: z.string(),
  /** What deciders are shown; null for nothing. */
  detail: z.unknown(),
  /** "role:legal" or "user:ada". */
  deciders: z.array(z.string()),
  quorum: z.int(),
  requestedBy: z.string(),
  requesterMayDecide: z.boolean(),
  onExpiry: z.enum(ON_EXPIRY),
  source: z.string().nullable(),
  createdAt: time,
  expiresAt: time.nullable(),
  closedAt: time.nullable(),
  closedBy: z.string().nullable(),
  decisions: z.array(
    z.object({ by: z.string(), verdict: z.enum(VERDICTS), at: time, comment: z.string().nullable() }),
  ),
});
export type ConsentView = z.infer<typeof ConsentView>;

export const ConsentPage = z.object({ consents: z.array(ConsentView), nextCursor: z.string().nullable() });
export type ConsentPage = z.infer<typeof ConsentPage>;

export const DecisionRequest = z.strictObject({
  verdict: z.enum(VERDICTS),
  /** Digest of the request that the decider was shown. */
  digest: z.string().min(1).max(200),
  comment: z.string().trim().min(1).max(4_000).optional(),
});
export type DecisionRequest = z.infer<typeof DecisionRequest>;

export const Decided = z.object({
  consentId: z.string(),
  runId: z.string(),
  /** PENDING while the quorum is not reached. */
  status: z.enum(statesOf("consent")),
  /** True where the same word of the same person had been kept before. */
  repeated: z.boolean(),
  /** Whether this word brought the run back. */
  resumed: z.boolean(),
});
export type Decided = z.infer<typeof Decided>;

/** Names of signals. */
export const SIGNAL_NAME = /^[\x21-\x7e][\x20-\x7e]{0,199}$/;

export const SignalRequest = z.strictObject({ payload: z.unknown().optional() });
export type SignalRequest = z.infer<typeof SignalRequest>;

export const Signalled = z.object({
  runId: z.string(),
  signalId: z.string(),
  /** True where the same signal under the same key had been kept before. */
  repeated: z.boolean(),
  /** Whether the run waited for it; else it is kept until it does. */
  resumed: z.boolean(),
});
export type Signalled = z.infer<typeof Signalled>;

/** What a parked run waits for. */
export const OpenWait = z.object({
  kind: z.enum(CALL_KINDS),
  name: z.string(),
  /** When its time is over; null where it has none. */
  dueAt: time.nullable(),
  consentId: z.string().nullable(),
});
export type OpenWait = z.infer<typeof OpenWait>;

export const RunView = RunSummary.extend({
  /** What it waits for, the oldest first. */
  waits: z.array(OpenWait),
  /** Null also where retention has emptied it. */
  input: z.unknown(),
  output: z.unknown(),
  error: RunError.nullable(),
  /** All of it must be acknowledged before the run is DONE, FAILED or CANCELLED. */
  containment: z.array(ContainmentItem),
});
export type RunView = z.infer<typeof RunView>;

export const RunPage = z.object({ runs: z.array(RunSummary), nextCursor: z.string().nullable() });
export type RunPage = z.infer<typeof RunPage>;

export const TimelineEntry = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("admitted"), at: time }),
  z.object({
    kind: z.literal("delivery"),
    at: time,
    enqueueSeq: z.int(),
    cause: z.enum(DELIVERY_CAUSES),
    status: z.enum(statesOf("delivery")),
    dueAt: time,
  }),
  z.object({ kind: z.literal("published"), at: time, enqueueSeq: z.int(), publications: z.int() }),
  z.object({ kind: z.literal("claimed"), at: time, enqueueSeq: z.int(), worker: z.string() }),
  z.object({
    kind: z.literal("step"),
    at: time,
    enqueueSeq: z.int(),
    ordinal: z.int(),
    /** A step, or a wait that has closed. */
    call: z.enum(CALL_KINDS),
    name: z.string(),
    nth: z.int(),
    outcome: z.enum(["ok", "error"]),
    tries: z.int(),
    startedAt: time,
  }),
  z.object({
    kind: z.literal("worker_ended"),
    at: time,
    enqueueSeq: z.int(),
    worker: z.string(),
    how: z.string(),
  }),
  z.object({
    kind: z.literal("settled"),
    at: time,
    enqueueSeq: z.int(),
    outcome: z.enum(DELIVERY_OUTCOMES),
  }),
  z.object({ kind: z.literal("fenced"), at: time, enqueueSeq: z.int() }),
  z.object({
    kind: z.literal("finished"),
    at: time,
    status: z.enum(statesOf("run")),
    errorCode: z.string().nullable(),
  }),
]);
export type TimelineEntry = z.infer<typeof TimelineEntry>;

export const Timeline = z.object({
  runId: z.string(),
  status: z.enum(statesOf("run")),
  entries: z.array(TimelineEntry),
});
export type Timeline = z.infer<typeof Timeline>;

export const WorkflowView = WorkflowRef.extend({
  queue: z.string(),
  onWorkerLoss: z.enum(["resume", "fail"]),
  inputSchema: z.unknown(),
  outputSchema: z.unknown(),
});
export const WorkflowList = z.object({ workflows: z.array(WorkflowView) });
export type WorkflowList = z.infer<typeof WorkflowList>;

/** RFC 9457. `type` is `urn:ghouls:problem:<code>` and stable. */
export const Problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  fix: z.string().optional(),
  requestId: z.string(),
  errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});
export type Problem = z.infer<typeof Problem>;
