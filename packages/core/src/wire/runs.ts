import * as z from "zod";
import { CALL_KINDS } from "../call.ts";
import { RUN_FAILURE_CODES } from "../run.ts";
import { SKIP_REASONS } from "../skip.ts";
import { DELIVERY_CAUSES, DELIVERY_OUTCOMES, statesOf } from "../transitions.ts";
import { WorkflowRef } from "./admission.ts";
import { time } from "./frame.ts";
import { HeldBy } from "./pauses.ts";
import { OpenWait } from "./waits.ts";

const Flag = z.object({ reason: z.string(), at: time });

export const RunSummary = z.object({
  runId: z.string(),
  /** The run that has started it, if one has. */
  parentRunId: z.string().nullable(),
  /** The ended run whose work it takes up again, if it does. */
  redriveOf: z.string().nullable(),
  /** The run that takes its own work up again, if one does. */
  redrivenAs: z.string().nullable(),
  workflow: WorkflowRef,
  status: z.enum(statesOf("run")),
  queue: z.string(),
  priority: z.int(),
  agent: z.string().nullable(),
  labels: z.record(z.string(), z.string()),
  idempotencyKey: z.string().nullable(),
  requestedBy: z.string(),
  enqueueSeq: z.int(),
  steps: z.int(),
  errorCode: z.string().nullable(),
  attention: Flag.nullable(),
  quarantine: Flag.nullable(),
  /** When it was paused itself. */
  pausedAt: time.nullable(),
  /** What holds it, its own pause first; empty where nothing does, and where it is ending or has ended. */
  pauses: z.array(HeldBy),
  deadlineAt: time.nullable(),
  createdAt: time,
  /** When its code starts: a delayed start, a release, or a start anew by `ctx.restart`; null where it started at once. */
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
  kind: z.enum(["worker", "effect", "attempt", "child", "undo"]),
  /** The worker's name, the step of the effect or of the undo, the call that has delegated the job, or the child's run. */
  subject: z.string(),
  enqueueSeq: z.int(),
  /** When nothing of it can still act; null where only a word can tell. */
  overAt: time.nullable(),
  createdAt: time,
  /** How often it was looked at in vain. */
  tries: z.int(),
  /** Why it could not be acknowledged the last time, where that was told. */
  lastError: z.string().nullable(),
  acknowledgedAt: time.nullable(),
  acknowledgedBy: z.string().nullable(),
  acknowledgement: z.string().nullable(),
});
export type ContainmentItem = z.infer<typeof ContainmentItem>;

/** Units of a capacity that a run holds or waits for, AWAY between two hops; LEFT by a claim that is lost, of which something may still act. */
export const ReservedUnits = z.object({
  capacity: z.string(),
  units: z.int(),
  name: z.string(),
  scope: z.string(),
  status: z.enum(["WAITING", "AWAY", "HELD", "LEFT"]),
  askedAt: time,
  heldAt: time.nullable(),
});
export type ReservedUnits = z.infer<typeof ReservedUnits>;

export const RunView = RunSummary.extend({
  /** What it waits for, the oldest first. */
  waits: z.array(OpenWait),
  reservations: z.array(ReservedUnits),
  /** Null also where retention has emptied it. */
  input: z.unknown(),
  output: z.unknown(),
  error: RunError.nullable(),
  /** When retention has emptied input, output, error and the results of its steps; their digests stay. */
  bodiesEmptiedAt: time.nullable(),
  /** All of it must be acknowledged before the run is DONE, FAILED or CANCELLED. */
  containment: z.array(ContainmentItem),
});
export type RunView = z.infer<typeof RunView>;

/** A page may be short, or empty, and go on all the same: where a filter means few of many, each page looks at a bounded number. */
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
  z.object({
    kind: z.literal("claimed"),
    at: time,
    enqueueSeq: z.int(),
    worker: z.string(),
    cause: z.enum(DELIVERY_CAUSES),
  }),
  z.object({
    kind: z.literal("step"),
    at: time,
    enqueueSeq: z.int(),
    ordinal: z.int(),
    /** A step, or a wait that has closed. */
    call: z.enum(CALL_KINDS),
    name: z.string(),
    /** Path of the map items, and of what units were held for, that it stood in; empty at the top. */
    scope: z.string(),
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
  z.object({
    kind: z.literal("fenced"),
    at: time,
    enqueueSeq: z.int(),
    /** What took it away: "cancelled", "deadline", "hold_expired", another error code, or "ended" with its run. */
    why: z.string(),
  }),
  z.object({
    kind: z.literal("skipped"),
    /** The first time; `lastAt` the last. */
    at: time,
    lastAt: time,
    enqueueSeq: z.int(),
    /** Why a message of it was not claimed. */
    reason: z.enum(SKIP_REASONS),
    times: z.int(),
  }),
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

/** How many runs were admitted when, by their status now. */
export const RunCounts = z.object({
  /** When the first bucket begins. */
  since: time,
  bucketSeconds: z.int(),
  counted: z.int(),
  /** False where there were more than are counted at once: then only the newest are. */
  complete: z.boolean(),
  /** One after the other, without a hole; statuses without a run are left out. */
  buckets: z.array(z.object({ at: time, statuses: z.partialRecord(z.enum(statesOf("run")), z.int()) })),
});
export type RunCounts = z.infer<typeof RunCounts>;

/** What a deploy would strand: the tenant's runs that have not ended, by the code that they are pinned to. */
export const PinnedList = z.object({
  pinned: z.array(
    WorkflowRef.extend({
      openRuns: z.int(),
      /** When the oldest of them was admitted. */
      oldestAt: time,
      /** Where their code is: in this build or in what it accepts, in a release, or nowhere that is known. */
      held: z.enum(["build", "release", "nowhere"]),
    }),
  ),
  /** False where there are more open runs than are counted at once. */
  complete: z.boolean(),
});
export type PinnedList = z.infer<typeof PinnedList>;
