import { openStates, type States, type StatesAnswer, type StatesFailure } from "@ghouls/aws";
import type { AskContext, Duration, JobAnswer, JobRef, JobSubmission, Service } from "@ghouls/core";
import type * as z from "zod";
import { unknown } from "./job-reply.ts";
import { executionName, isSameInput, reportOf, NAME_PREFIX } from "./step-functions-jobs.ts";
import { checkedOptions } from "./step-functions-options.ts";

export interface StepFunctionsServiceOptions<Request, Result> {
  /**
   * ARN of a STANDARD state machine, without version or alias. It must be known wherever the configuration is loaded: by the
   * deploy, the build and every function, of which only one may use it.
   */
  readonly stateMachine: string;
  /** What a job is asked with. What this schema gives is the execution's input, at most 262,144 bytes of JSON. */
  readonly request: z.ZodType<Request>;
  /** What a job that succeeded brings: the execution's output. */
  readonly result: z.ZodType<Result>;
  /** From the acceptance to the first lookup; "30s" by default. Further ones come at growing distances. */
  readonly poll?: Duration;
  /** How long one question may take; "10s" by default, which is the most. It may be two calls of AWS. */
  readonly timeout?: Duration;
  /**
   * After which a lookup sees what was accepted; "1m" by default. AWS calls it eventually consistent, and names no bound.
   * Source: Step Functions API, "DescribeExecution".
   */
  readonly delay?: Duration;
  /**
   * How long an execution is known, and its name taken, after its end; "30d" by default, the shortest retention that an account
   * can be given. AWS's own is 90 days: "90d" where nobody has asked for less. Source: Step Functions, "Quotas".
   */
  readonly remembers?: Duration;
}

/** Bytes of UTF-8. Source: Step Functions, "Quotas related to state machine executions". */
const MAX_INPUT_BYTES = 262_144;

/**
 * A state machine of AWS Step Functions, of type STANDARD: a job is an execution, named after the key, and its input is the
 * request's very text, so that the same key and request are one execution, however often it is started. The region is that of
 * the ARN; credentials and `AWS_ENDPOINT_URL_SFN` or `AWS_ENDPOINT_URL` are the process's.
 *
 * | question | call                                        | its answer says                                                     |
 * | -------- | ------------------------------------------- | ------------------------------------------------------------------- |
 * | submit   | `StartExecution`, once; before the first of | started: accepted; `ExecutionAlreadyExists`: closed, or other       |
 * |          | a process `DescribeStateMachine`            | input, so one `DescribeExecution` is made at once                   |
 * | lookup   | `DescribeExecution`                         | `RUNNING`, `PENDING_REDRIVE`: running; `SUCCEEDED` with its output; |
 * |          |                                             | `FAILED`, `TIMED_OUT`: failed; `ABORTED`: cancelled;                |
 * |          |                                             | `ExecutionDoesNotExist`: absent, if the machine is there            |
 * | cancel   | `StopExecution`, then `DescribeExecution`   | the same: cancelled only where it says `ABORTED`                    |
 *
 * Unsent is what has not left, because of its size, of missing credentials or of no connection, because the machine is not
 * there or is an EXPRESS one; and what Step Functions itself refuses to start: throttled, not allowed, above a quota, not valid.
 * Unknown is all else: no answer in time, a broken connection, any 5xx, and an output that was not included or cannot be kept.
 *
 * What the answers prove:
 *
 * - A lookup that finds an execution proves that it was started, and how it stands or has ended. One that does not find it
 *   proves that it was not, if it was asked later than `delay` after it may have been sent last, and within `remembers` of when
 *   it may have been sent first: an execution is forgotten some time after its end, and its name can be used again. After that
 *   nothing is concluded, and nothing sent again: a person is asked.
 * - A stop proves that the execution moves no further. One of an execution that does not exist proves nothing of a start that
 *   arrives later. What the machine itself has started elsewhere (`.sync` integrations, child executions, activities) is stopped
 *   by Step Functions as best it can, or not at all: what must end with it, the machine must see to.
 *
 * What breaks that: to delete a machine while jobs of it are open, and to make another one of its name; to redrive an execution
 * that was reported as failed or cancelled, which its run does not hear of any more.
 * @throws GhoulsError configuration_invalid for options that are none
 */
export function stepFunctionsService<Request, Result>(
  options: StepFunctionsServiceOptions<Request, Result>,
): Service<Request, Result> {
  const { machine, traits, times } = checkedOptions(options);
  const states = openStates({ region: machine.region });
  const arnOf = (job: JobRef) => `${machine.executions}:${executionName(job.idempotencyKey)}`;
  const isStandard = standardOnce(states, machine.arn);
  return {
    adapter: "stepfunctions",
    version: "1",
    identity: { stateMachine: machine.arn },
    request: options.request,
    result: options.result,
    traits,
    times,
    permissions: [
      { actions: ["states:DescribeStateMachine", "states:StartExecution"], resources: [machine.arn] },
      {
        actions: ["states:DescribeExecution", "states:StopExecution"],
        resources: [`${machine.executions}:${NAME_PREFIX}*`],
      },
    ],
    submit: async (job, context) => {
      const bytes = Buffer.byteLength(job.requestText);
      if (bytes > MAX_INPUT_BYTES)
        return unsent(
          `its request has ${bytes} bytes, and Step Functions takes ${MAX_INPUT_BYTES} at most: hand over where it is kept, instead`,
        );
      const against = await isStandard(context);
      return against === undefined ? start(states, machine.arn, arnOf(job), job, context) : unsent(against);
    },
    lookUp: (job, context) => lookUp(states, machine.arn, arnOf(job), context),
    cancel: async (job, context) => {
      const stopped = await states.ask("StopExecution", { executionArn: arnOf(job) }, context);
      const found = await lookUp(states, machine.arn, arnOf(job), context);
      // One that has ended cannot be stopped. That it runs on, where it was not stopped, has its reason.
      return "failure" in stopped && found.state === "running" ? unanswered(stopped.failure) : found;
    },
  };
}

async function start(
  states: States,
  machineArn: string,
  executionArn: string,
  job: JobSubmission,
  context: AskContext,
): Promise<JobAnswer> {
  const input = {
    stateMachineArn: machineArn,
    name: executionName(job.idempotencyKey),
    input: job.requestText,
  };
  const started = await states.ask("StartExecution", input, context);
  if ("answer" in started) {
    const { executionArn: made } = started.answer;
    return made === executionArn
      ? { state: "accepted" }
      : unknown("it has started what is not this execution");
  }
  const { failure } = started;
  if (failure.code !== "ExecutionAlreadyExists")
    return failure.unsent || isRefusal(failure) ? unsent(wordsOf(failure)) : unanswered(failure);
  const found = await states.ask("DescribeExecution", { executionArn }, context);
  if ("failure" in found) return unanswered(found.failure);
  return isSameInput(found.answer.input, job.requestText)
    ? reportOf(found.answer)
    : unknown("an execution of its name has another input: somebody else has started that");
}

async function lookUp(
  states: States,
  machineArn: string,
  executionArn: string,
  context: AskContext,
): Promise<JobAnswer> {
  const found = await states.ask("DescribeExecution", { executionArn }, context);
  if ("answer" in found) return reportOf(found.answer);
  if (found.failure.code !== "ExecutionDoesNotExist") return unanswered(found.failure);
  // Executions go with their machine.
  const machine = await describeMachine(states, machineArn, context);
  if ("failure" in machine) return unanswered(machine.failure);
  return machine.answer.status === "ACTIVE"
    ? { state: "absent" }
    : unknown("its state machine is being deleted, and its executions with it");
}

/** Of an EXPRESS machine two starts are two executions, and none can be described: nothing is sent to one. */
function standardOnce(states: States, machineArn: string) {
  let known = false;
  return async (context: AskContext): Promise<string | undefined> => {
    if (known) return undefined;
    const machine = await describeMachine(states, machineArn, context);
    if ("failure" in machine) return `nothing is known of its state machine: ${wordsOf(machine.failure)}`;
    known = machine.answer.type === "STANDARD";
    return known ? undefined : "its state machine is not of type STANDARD, whose starts are safe to repeat";
  };
}

function describeMachine(
  states: States,
  stateMachineArn: string,
  context: AskContext,
): Promise<StatesAnswer<{ readonly type?: string | undefined; readonly status?: string | undefined }>> {
  return states.ask("DescribeStateMachine", { stateMachineArn }, context);
}

/**
 * What Step Functions says of a start that it has not made. Not here: what says nothing of whether it was made, such as any
 * failure of its own. Source: Step Functions API, "StartExecution" and "Common Errors".
 */
const REFUSALS = new Set([
  "AccessDeniedException",
  "ExecutionLimitExceeded",
  "ExpiredTokenException",
  "IncompleteSignature",
  "InvalidArn",
  "InvalidExecutionInput",
  "InvalidName",
  "InvalidSignatureException",
  "KmsAccessDeniedException",
  "KmsInvalidStateException",
  "KmsThrottlingException",
  "MissingAuthenticationTokenException",
  "StateMachineDeleting",
  "StateMachineDoesNotExist",
  "ThrottlingException",
  "UnrecognizedClientException",
  "ValidationException",
]);

function isRefusal({ code, status = 0 }: StatesFailure): boolean {
  return REFUSALS.has(code) && status >= 400 && status <= 499;
}

function unsent(why: string): JobAnswer {
  return { state: "unsent", why };
}

function unanswered(failure: StatesFailure): JobAnswer {
  return unknown(wordsOf(failure));
}

/** Those about the input may repeat some of it, which is kept nowhere but through the codec. */
function wordsOf({ code, message }: StatesFailure): string {
  return /^(InvalidExecutionInput|ValidationException)$/.test(code)
    ? `Step Functions: ${code}`
    : `Step Functions: ${code}: ${message}`.slice(0, 500);
}
