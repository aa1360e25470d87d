import type { Expected } from "../checks/check.ts";
import { all, added, inputs, inputsWithout, text, variable, without, type Mutation } from "./mutation.ts";

const RUNS = "GhoulsQueueRunsQueue";
const DEAD = "GhoulsDeadLetterRunsQueue";
const arn = (name: string) => `arn:aws:sqs:us-east-1:123456789012:ghouls-test-${name}-bdvfbzta`;
const worker = (name: string) =>
  `arn:aws:lambda:us-east-1:123456789012:function:ghouls-test-${name}Function-bdvfbzta`;
const redrive = (target: string, maxReceiveCount: number) => ({
  redrivePolicy: JSON.stringify({ deadLetterTargetArn: arn(target), maxReceiveCount }),
});
const RUNS_MAPPING = /^GhoulsQueueRunsSubscriber.*EventSourceMapping$/;

const REDRIVE = "every queue has a dead-letter queue of its own that it redrives to late";
const CONSUMPTION = "every queue is taken from by one function of its own";
const MAPPING = "mappings report failures by item, and limit batch and concurrency";
const GUARD = "a queue's policy admits its senders only, over TLS";

/** What the reconciler may do with a queue that is gone is said by its ARN alone. */
const unresolved = (expected: Expected): Expected => ({
  ...expected,
  permissions: {
    ...expected.permissions,
    GhoulsReconciler: (expected.permissions["GhoulsReconciler"] ?? []).map((text) =>
      text.replace(DEAD, arn(DEAD)),
    ),
  },
});

export const QUEUE_MUTATIONS: readonly Mutation[] = [
  {
    check: "dead letters are held against the ledger",
    what: "the reconciler looks at another queue",
    change: variable("GhoulsReconcilerFunction", "GHOULS_DEAD_LETTERS_RUNS_URL", "https://sqs/another"),
  },
  {
    check: REDRIVE,
    what: "it gives up after three receives",
    change: inputs(RUNS, redrive("GhoulsDeadLetterRunsQueue", 3)),
  },
  { check: REDRIVE, what: "its dead-letter queue is gone", change: without(DEAD), expect: unresolved },
  {
    check: REDRIVE,
    what: "it redrives nowhere",
    change: all(inputsWithout(RUNS, "redrivePolicy"), without(DEAD)),
    expect: unresolved,
  },
  {
    check: REDRIVE,
    what: "it shares another queue's",
    change: all(inputs(RUNS, redrive("GhoulsDeadLetterRitesQueue", 20)), without(DEAD)),
    expect: unresolved,
  },
  {
    check: "dead-letter queues keep messages for 14 days",
    what: "one has SQS's own four days",
    change: inputsWithout(DEAD, "messageRetentionSeconds"),
  },
  {
    check: "a queue's visibility timeout is not below its function's timeout",
    what: "it has SST's own 30 seconds",
    change: inputs(RUNS, { visibilityTimeoutSeconds: 30 }),
  },
  {
    check: "a queue's visibility timeout is not below its function's timeout",
    what: "its worker may take a second more",
    change: inputs("GhoulsWorkerRunsFunction", { timeout: 901 }),
  },
  { check: CONSUMPTION, what: "nobody takes from it", change: without(RUNS_MAPPING) },
  {
    check: CONSUMPTION,
    what: "another queue's worker takes from it",
    change: inputs(RUNS_MAPPING, { functionName: worker("GhoulsWorkerRites") }),
  },
  {
    check: CONSUMPTION,
    what: "a mapping leads to a function from elsewhere",
    change: inputs(RUNS_MAPPING, { functionName: worker("GhoulsElsewhere") }),
  },
  {
    check: CONSUMPTION,
    what: "a mapping takes from its dead letters",
    change: all(
      inputs(DEAD, { visibilityTimeoutSeconds: 900 }),
      added("aws:lambda/eventSourceMapping:EventSourceMapping", "Second", {
        batchSize: 1,
        eventSourceArn: arn("GhoulsDeadLetterRunsQueue"),
        functionName: worker("GhoulsReconciler"),
        functionResponseTypes: ["ReportBatchItemFailures"],
        scalingConfig: { maximumConcurrency: 2 },
      }),
    ),
  },
  {
    check: MAPPING,
    what: "failures are not reported by item",
    change: inputs(RUNS_MAPPING, { functionResponseTypes: [] }),
  },
  {
    check: MAPPING,
    what: "nothing limits concurrency",
    change: inputsWithout(RUNS_MAPPING, "scalingConfig"),
  },
  {
    check: MAPPING,
    what: "a batch is as large as SQS allows with a window",
    change: inputs(RUNS_MAPPING, { batchSize: 100 }),
  },
  { check: MAPPING, what: "nobody has set a batch size", change: inputsWithout(RUNS_MAPPING, "batchSize") },
  {
    check: MAPPING,
    what: "it waits for a batch to fill",
    change: inputs(RUNS_MAPPING, { maximumBatchingWindowInSeconds: 5 }),
  },
  { check: GUARD, what: "it has no policy", change: without("GhoulsPolicyRuns") },
  {
    check: GUARD,
    what: "it has a second policy, which replaces the first",
    change: added("aws:sqs/queuePolicy:QueuePolicy", "Second", {
      queueUrl: "https://sqs.us-east-1.amazonaws.com/123456789012/ghouls-test-GhoulsQueueRunsQueue-bdvfbzta",
      policy: { Version: "2012-10-17", Statement: [] },
    }),
  },
  {
    check: GUARD,
    what: "the API's role may send",
    change: text("GhoulsPolicyRuns", "GhoulsAdmissionRole", "GhoulsApiRole"),
  },
  {
    check: GUARD,
    what: "everybody of the account may send",
    change: text("GhoulsPolicyRuns", "sqs:SendMessage", "sqs:PurgeQueue"),
  },
  {
    check: GUARD,
    what: "plain HTTP is taken",
    change: text("GhoulsPolicyRuns", "aws:SecureTransport", "aws:ViaAWSService"),
  },
  {
    check: GUARD,
    what: "everybody is let in",
    change: text(
      "GhoulsPolicyRuns",
      '\\"Deny\\",\\"Principal\\":\\"*\\",\\"Action\\":\\"sqs:SendMessage',
      '\\"Allow\\",\\"Principal\\":\\"*\\",\\"Action\\":\\"sqs:SendMessage',
    ),
  },
];
