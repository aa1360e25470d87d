import { DEFAULT_QUEUE, callKey, sha256, type Logger, errorInLog } from "@ghouls/core";
import type { ClaimedRun, OpenArm } from "@ghouls/ledger";
import { keepTrace } from "../admission/kept-trace.ts";
import { requestDigest } from "../admission/validate.ts";
import { afterCodec } from "./after-codec.ts";
import type { OpenCall } from "./calls.ts";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import { encoded } from "./encoded.ts";
import { refusal, whatStops, type HopEnd } from "./hop-end.ts";
import type { CallEnd } from "./in-flight.ts";
import { CodecError } from "./loaded-journal.ts";
import { inputProblem } from "./material.ts";
import { persist, type Persistence } from "./persist.ts";
import { contentOfChild, digestOfFrozen } from "./takeover.ts";
import type { ChildRequest } from "./wait-options.ts";

/**
 * Starts the child of a call, or finds it started by an earlier hop (design.md §3, Children). Answers how the hop ends
 * where it cannot be started; never rejects. The child's first delivery is published at once, else by the relay.
 */
export async function startChild(
  claim: ClaimedRun,
  call: OpenCall,
  child: ChildRequest,
  arms: readonly OpenArm[],
  deps: ExecutionDeps,
  persistence: Persistence,
  invocation: Invocation,
): Promise<CallEnd> {
  const arm = arms.find((one) => callKey(one.call) === call.key);
  const end = await whatStops(() =>
    arm === undefined
      ? start(claim, call, child, deps, persistence)
      : problemOfStarted(claim, call, child, arm, deps),
  );
  if (end === undefined) return { outcome: "stands" };
  if (end.kind !== "unknown" || !(end.error instanceof CodecError)) return { outcome: "stops", end };
  return { outcome: "stops", end: afterCodec(claim, end.error, deps, invocation) };
}

/** It was started; the code must ask for that very run. */
async function problemOfStarted(
  claim: ClaimedRun,
  call: OpenCall,
  child: ChildRequest,
  { childRunId, requestDigest: started }: OpenArm,
  deps: ExecutionDeps,
): Promise<HopEnd | undefined> {
  if ((await digestOf(child, deps)) === started) return undefined;
  // The pin may have moved since, and the codec's key.
  if ((await digestOfFrozen(claim, childRunId ?? "", call.wait, deps)) !== undefined) return undefined;
  const { name } = call.id;
  return refusal(
    "journal_mismatch",
    `child "${name}" was started with another request than the code asks for now: the code has changed or is not deterministic`,
    name,
  );
}

function digestOf(child: ChildRequest, { codec }: Pick<ExecutionDeps, "codec">): Promise<string> {
  return encoded("the request of a child", () => requestDigest(codec, contentOfChild(child)));
}

async function start(
  claim: ClaimedRun,
  call: OpenCall,
  child: ChildRequest,
  deps: ExecutionDeps,
  persistence: Persistence,
): Promise<HopEnd | undefined> {
  const { definition, digest } = child.workflow;
  const { name } = call.id;
  const problem = await inputProblem(definition, child.inputText);
  if (problem !== undefined)
    return refusal(
      "invalid_call",
      `child "${name}": its input does not fit workflow "${definition.name}": ${problem}`,
      name,
    );
  const [armId, runId] = [deps.ids.next(), deps.ids.next()];
  const { tenantId } = claim;
  const context = { tenantId, runId, kind: "input" } as const;
  const inputText = await encoded(`the input of child "${name}"`, () =>
    deps.codec.encode(child.inputText, context),
  );
  const queue = child.queue ?? definition.queue ?? DEFAULT_QUEUE;
  const started = {
    armId,
    call: call.id,
    runId,
    requestDigest: await digestOf(child, deps),
    workflow: { name: definition.name, version: definition.version, digest },
    queue,
    priority: child.priority,
    inputText,
    inputDigest: sha256(inputText),
    deadlineMs: definition.deadlineMs ?? null,
    onWorkerLoss: definition.onWorkerLoss,
    parentClose: child.parentClose,
  };
  const { publisherGraceSeconds } = deps.settings;
  await deps.faults("worker.before-child", name);
  const written = await persist(
    () => deps.ledger.children.startIfClaimed(claim, started, { publisherGraceSeconds }),
    persistence,
  );
  await deps.faults("worker.after-child", name);
  if (!written) return { kind: "fenced" };
  await keepTrace([{ tenantId, runId, enqueueSeq: 1 }], deps.ledger.traces.markMade, deps.logFor(claim));
  await deps.publisher.publish({ tenantId, runId, enqueueSeq: 1, queue });
  return undefined;
}

/**
 * Tells the parent of a run that has ended, where it has one: the second transaction of a child's end. What fails here is the
 * children pass's.
 */
export async function tellParent(
  claim: ClaimedRun,
  deps: Pick<ExecutionDeps, "ledger" | "publisher" | "settings" | "faults">,
  log: Logger,
): Promise<void> {
  const { tenantId, runId, parentRunId } = claim;
  if (parentRunId === null) return;
  try {
    await deps.faults("worker.before-tell-parent", runId);
    const { resumption } = await deps.ledger.children.tellParent(
      { tenantId, runId, parentRunId },
      deps.settings.publisherGraceSeconds,
    );
    await deps.faults("worker.after-tell-parent", runId);
    if (resumption !== null) await deps.publisher.publish(resumption);
  } catch (error) {
    log.warn("the parent of a run could not be told of its end; the reconciler does it", {
      parentRunId,
      error: errorInLog(error),
    });
  }
}
