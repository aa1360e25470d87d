import * as z from "zod";
import { isDuration } from "../duration.ts";
import { QUEUE_NAME } from "../settings.ts";
import { statesOf } from "../transitions.ts";
import { MAX_BATCH, time } from "./frame.ts";

/** Names of workflows. */
export const WORKFLOW_NAME = /^[a-z0-9][a-z0-9._-]{0,99}$/i;
const name = z.string().regex(WORKFLOW_NAME, 'letters, digits, ".", "_" and "-", at most 100');

export const IdempotencyKey = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[\x21-\x7e]+$/, "printable ASCII without spaces");

/** Names of labels. */
export const LABEL_KEY = /^[a-z0-9][a-z0-9._/-]{0,62}$/;
const MAX_LABELS = 16;

/** What a run is found by later; they are no secret, and never change. */
export const Labels = z
  .record(
    z.string().regex(LABEL_KEY, 'small letters, digits, ".", "_", "/" and "-", at most 63'),
    z
      .string()
      .max(200)
      .refine((value) => !/\p{Cc}/u.test(value) && value.isWellFormed(), "has control characters")
      .meta({ pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$" }),
  )
  .refine((labels) => Object.keys(labels).length <= MAX_LABELS, `at most ${MAX_LABELS}`)
  // For the document, which knows nothing of refinements.
  .meta({
    maxProperties: MAX_LABELS,
    propertyNames: { type: "string", pattern: LABEL_KEY.source, maxLength: 63 },
  });
export type Labels = z.infer<typeof Labels>;

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
  labels: Labels.optional(),
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
  /** When it starts: where that was asked for and lay ahead, or where it was released. */
  startsAt: time.nullable(),
});
export type Admitted = z.infer<typeof Admitted>;

export const BatchOutcome = z.discriminatedUnion("outcome", [
  z.object({ outcome: z.literal("admitted"), run: Admitted }),
  z.object({ outcome: z.literal("conflict"), idempotencyKey: z.string(), detail: z.string() }),
]);
export const BatchAdmitted = z.object({ runs: z.array(BatchOutcome) });
export type BatchAdmitted = z.infer<typeof BatchAdmitted>;

/** The answer of a redrive. */
export const Redriven = z.object({
  /** Of the run that goes on. */
  runId: z.string(),
  redriveOf: z.string(),
  /** False where the same person had redriven it before with the same word. */
  created: z.boolean(),
  status: z.enum(statesOf("run")),
  enqueueSeq: z.int(),
  workflow: WorkflowRef,
  queue: z.string(),
  priority: z.int(),
  /** How many finished calls it has from the old run; null where it was redriven before. */
  kept: z.int().nullable(),
  /** The failed call that is made again; null where all finished calls are kept, or it was redriven before. */
  from: z.object({ kind: z.string(), name: z.string() }).nullable(),
});
export type Redriven = z.infer<typeof Redriven>;

export const Released = z.object({
  runId: z.string(),
  enqueueSeq: z.int(),
  /** False where it had been released before. */
  released: z.boolean(),
});
export type Released = z.infer<typeof Released>;
