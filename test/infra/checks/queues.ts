import type { Check } from "./check.ts";
import type { Statement } from "./policies.ts";
import {
  allQueues,
  componentOf,
  deadLetterQueues,
  functionBehind,
  functions,
  mappings,
  queuePolicies,
  workQueues,
} from "./resources.ts";

/** Throttling and give-backs use receives up, and the ledger decides about runs, not the queue. */
const LEAST_RECEIVES = 5;
/** The longest that SQS keeps a message. Source: Amazon SQS, "Message quotas". */
const LONGEST_RETENTION = 14 * 86_400;

export const redrive: Check = (graph) => {
  const targets = new Set<string>();
  return workQueues(graph).flatMap(({ name, inputs: { redrivePolicy } }) => {
    if (redrivePolicy === undefined) return [`${name} has no dead-letter queue`];
    const { deadLetterTargetArn: target, maxReceiveCount: receives } = redrivePolicy;
    const shared = targets.has(target);
    targets.add(target);
    return [
      ...(allQueues(graph).some(({ arn }) => arn === target)
        ? []
        : [`${name} redrives to ${target}, which is not here`]),
      ...(shared ? [`${name} shares its dead-letter queue`] : []),
      ...(receives < LEAST_RECEIVES ? [`${name} gives a message up after ${receives} receives`] : []),
    ];
  });
};

/** The reconciler knows each by a variable of its own; what it may do with them stands among its permissions. */
export const deadLettersRead: Check = (graph, { reconciler }) => {
  const fn = functions(graph).find((one) => componentOf(one) === reconciler);
  const variables = Object.entries(fn?.inputs.environment.variables ?? {});
  const known = variables.filter(([name]) => /^GHOULS_DEAD_LETTERS_[A-Z0-9_]+_URL$/.test(name));
  return deadLetterQueues(graph)
    .filter(({ inputs }) => !known.some(([, url]) => url.endsWith(`/${inputs.name}`)))
    .map(({ name }) => `nobody holds what is in ${name} against the ledger`);
};

/** A message that falls into a dead-letter queue keeps its age. */
export const retention: Check = (graph) =>
  deadLetterQueues(graph)
    .filter(({ inputs }) => inputs.messageRetentionSeconds !== LONGEST_RETENTION)
    .map(({ name, inputs }) => `${name} keeps messages for ${inputs.messageRetentionSeconds} s only`);

/** Lambda refuses the mapping otherwise. Source: AWS Lambda, "Using Lambda with Amazon SQS". */
export const visibility: Check = (graph) =>
  mappings(graph).flatMap(({ inputs: { eventSourceArn, functionName } }) => {
    const queue = allQueues(graph).find(({ arn }) => arn === eventSourceArn);
    const fn = functionBehind(graph, functionName);
    if (queue === undefined || fn === undefined) return [];
    const { visibilityTimeoutSeconds: visible } = queue.inputs;
    if (visible >= fn.inputs.timeout) return [];
    return [
      `${queue.name} shows a message again after ${visible} s, ${fn.name} may take ${fn.inputs.timeout} s`,
    ];
  });

export const consumption: Check = (graph) => {
  const consumed = mappings(graph).map(({ name, inputs: { eventSourceArn, functionName } }) => ({
    name,
    queue: workQueues(graph).find(({ arn }) => arn === eventSourceArn)?.name,
    fn: functionBehind(graph, functionName)?.name,
  }));
  return [
    ...consumed
      .filter(({ queue }) => queue === undefined)
      .map(({ name }) => `${name} takes from no queue of ours`),
    ...consumed
      .filter(({ fn }) => fn === undefined)
      .map(({ name }) => `${name} leads to no function of ours`),
    ...workQueues(graph).flatMap(({ name }) => {
      const by = consumed.filter(({ queue }) => queue === name).length;
      return by === 1 ? [] : [`${name} is taken from by ${by} mappings`];
    }),
    ...functions(graph).flatMap(({ name }) => {
      const from = consumed.filter(({ fn }) => fn === name).length;
      return from > 1 ? [`${name} takes from ${from} queues: one could starve the other`] : [];
    }),
  ];
};

export const mapping: Check = (graph) =>
  mappings(graph).flatMap(({ name, inputs }) => {
    const {
      batchSize = 0,
      functionResponseTypes,
      scalingConfig,
      maximumBatchingWindowInSeconds: window,
    } = inputs;
    const { maximumConcurrency = 0 } = scalingConfig ?? {};
    return [
      ...(functionResponseTypes.includes("ReportBatchItemFailures")
        ? []
        : [`${name} brings a whole batch back for one failure`]),
      ...(maximumConcurrency >= 2
        ? []
        : [`${name} has a maximum concurrency of ${maximumConcurrency}, 2 is the least`]),
      ...(batchSize >= 1 && batchSize <= 10
        ? []
        : [`${name} takes batches of ${batchSize}: 1 to 10 is allowed`]),
      ...(window === 0 ? [] : [`${name} waits ${window} s for a batch`]),
    ];
  });

export const queueGuards: Check = (graph, { senders }) =>
  workQueues(graph).flatMap((queue) => {
    const own = queuePolicies(graph).filter(({ inputs }) => inputs.queueUrl === queue.id);
    // SQS keeps one policy: of two, the second replaces the first.
    if (own.length !== 1) return [`${queue.name} has ${own.length} policies`];
    const statements = own.flatMap(({ inputs }) => inputs.policy);
    const admitted = statements.flatMap((one) => admittedBy(one, queue.arn));
    const expected = (senders[componentOf(queue)] ?? []).map((name) => roleOf(graph, name));
    return [
      ...(statements.some(({ Effect, Principal }) => Effect === "Allow" && Principal?.["*"] !== undefined)
        ? [`${queue.name} is open to everybody`]
        : []),
      ...(statements.some((one) => refusesPlainHttp(one, queue.arn))
        ? []
        : [`${queue.name} takes messages without TLS`]),
      ...(admitted.toSorted().join() === expected.toSorted().join()
        ? []
        : [`${queue.name} admits ${admitted.join(", ") || "everybody of the account"}`]),
    ];
  });

/** A sender is a function of ours, or a role outside by its ARN. */
function roleOf(graph: Parameters<Check>[0], component: string): string {
  if (component.startsWith("arn:")) return component;
  const found = functions(graph).find((fn) => componentOf(fn) === component);
  return found?.inputs.role ?? `the role of ${component}, which is not here`;
}

/** Roles that a denial of all others leaves. */
function admittedBy(statement: Statement, arn: string): string[] {
  if (!denies(statement, arn, "sqs:SendMessage")) return [];
  return statement.Condition?.["ArnNotEquals"]?.["aws:PrincipalArn"] ?? [];
}

function refusesPlainHttp(statement: Statement, arn: string): boolean {
  return (
    denies(statement, arn, "sqs:*") &&
    statement.Condition?.["Bool"]?.["aws:SecureTransport"]?.join() === "false"
  );
}

function denies({ Effect, Principal, Action, Resource }: Statement, arn: string, action: string): boolean {
  const everybody = Principal?.["*"] !== undefined || Principal?.["AWS"]?.join() === "*";
  return (
    Effect === "Deny" && everybody && Action?.includes(action) === true && Resource?.includes(arn) === true
  );
}
