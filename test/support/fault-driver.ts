import { fork, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterAll, inject } from "vitest";
import type { ReceivedMessage } from "@ghouls/core";
import { durationMs } from "@ghouls/core";
import { FUNCTION_TIMEOUT, type CrashSettings } from "./crash-workflows.ts";
import type { Fault } from "./fault-plan.ts";
import type { TestQueue } from "./queue.ts";
import { CREDENTIALS } from "./queue.ts";
import { until } from "./wait.ts";
import type { FromWorker, Inspection, ToWorker } from "./worker-process.ts";

/** How an invocation ended, as Lambda would see it. */
export type Invocation =
  | { readonly kind: "answered"; readonly value: unknown }
  | { readonly kind: "threw"; readonly error: string }
  | { readonly kind: "ended"; readonly how: string };

/** One worker, a real process, whose end and whose faults the test decides. */
export interface WorkerProcess {
  readonly name: string;
  readonly pid: number;
  readonly settings: CrashSettings;
  alive(): boolean;
  /** Resolves with how it ended: "exit 0", "SIGKILL". */
  readonly ended: Promise<string>;
  /** Lines of its log. */
  readonly log: string[];
  /** Faults that it has come to. */
  readonly hits: readonly Fault[];
  faults(faults: readonly Fault[]): Promise<void>;
  /** Lets go what a fault delays. */
  go(): void;
  inspect(): Promise<Inspection>;
  /** Leaves this much time to the invocation, from now on. */
  remains(ms: number): Promise<void>;
  /** Hands messages over. The process is killed when the time is over, as on Lambda. */
  work(messages: readonly Handed[], remainingMs?: number): Promise<Invocation>;
  /** Runs the reconciler in this process. */
  reconcile(): Promise<Invocation>;
  signal(signal: NodeJS.Signals): void;
  /** Waits until the kernel says that the process stands still. */
  untilStopped(): Promise<void>;
}

export type Handed = Pick<ReceivedMessage, "messageId" | "receiptHandle" | "body">;

export interface Start {
  readonly databaseUrl: string;
  readonly stubUrl: string;
  readonly sqs: Pick<TestQueue, "endpoint" | "urls">;
  readonly settings?: CrashSettings;
}

let number = 0;
const started = new Set<ChildProcess>();
const killAll = () => {
  for (const child of started) child.kill("SIGKILL");
};
process.on("exit", killAll);

/** Starts a worker and waits until its code is loaded. It ends with the test file at the latest. */
export async function startWorker(options: Start): Promise<WorkerProcess> {
  const name = `worker-${process.pid}-${(number += 1)}`;
  const settings = options.settings ?? {};
  const child = fork(inject("workerProcess"), [], {
    execArgv: [],
    serialization: "json",
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      DATABASE_URL: options.databaseUrl,
      AWS_ENDPOINT_URL: options.sqs.endpoint,
      AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
      GHOULS_QUEUE_RUNS_URL: options.sqs.urls["runs"],
      GHOULS_QUEUE_RITES_URL: options.sqs.urls["rites"],
      ...(settings.deadLetters === true
        ? { GHOULS_DEAD_LETTERS_RUNS_URL: `${options.sqs.urls["runs"]}-dlq` }
        : {}),
      GHOULS_WORKER_ID: name,
      STUB_URL: options.stubUrl,
      ...(settings.jobsOrigin === undefined ? {} : { JOBS_ORIGIN: settings.jobsOrigin }),
      ...(settings.payments === undefined ? {} : { AGENT_PAYMENTS: settings.payments }),
      ...(settings.states === undefined ? {} : { AWS_ENDPOINT_URL_SFN: settings.states }),
      ...(settings.bank === undefined ? {} : { PAYOUT_BANK: settings.bank }),
      ...(settings.bankLies === true ? { PAYOUT_BANK_LIES: "yes" } : {}),
      CRASH_SETTINGS: JSON.stringify(settings),
    },
  });
  started.add(child);
  let alive = true;
  const ended = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => {
      alive = false;
      started.delete(child);
      resolve(signal ?? `exit ${code}`);
    });
  });
  afterAll(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const log: string[] = [];
  const hits: Fault[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8");
    stream?.on("data", (text: string) => log.push(...text.trim().split("\n")));
  }
  const ready = Promise.withResolvers<void>();
  const waiting = new Map<number, (message: Extract<FromWorker, { type: "answer" }>) => void>();
  let asked = 0;
  child.on("message", (message: FromWorker) => {
    if (message.type === "ready") ready.resolve();
    else if (message.type === "hit") hits.push(message.fault);
    else waiting.get(message.id)?.(message);
  });
  void ended.then((how) => ready.reject(new Error(`${name} ended at its start (${how}): ${log.join("\n")}`)));

  const send = (message: ToWorker) => void child.send(message, () => undefined);
  /** Sends a question and answers what came of it, also where the process ends instead. */
  const ask = async (make: (id: number) => ToWorker): Promise<Invocation> => {
    const id = (asked += 1);
    const answer = new Promise<Invocation>((resolve) => {
      waiting.set(id, ({ value, error }) =>
        resolve(error === undefined ? { kind: "answered", value } : { kind: "threw", error }),
      );
      void ended.then((how) => resolve({ kind: "ended", how }));
    });
    if (alive) send(make(id));
    return answer;
  };
  const invoke = async (
    what: "work" | "reconcile",
    event: unknown,
    remainingMs: number,
  ): Promise<Invocation> => {
    // Lambda kills at the limit; a slow machine, on which the process may be late to end itself, gets half as much again.
    const timer = setTimeout(() => child.kill("SIGKILL"), remainingMs * 1.5);
    try {
      return await ask((id) => ({ type: "invoke", id, what, event, remainingMs }));
    } finally {
      clearTimeout(timer);
    }
  };
  await ready.promise;
  const limitMs = durationMs((settings.functionTimeout ?? FUNCTION_TIMEOUT) as typeof FUNCTION_TIMEOUT);
  return {
    name,
    settings,
    ended,
    log,
    hits,
    pid: child.pid ?? -1,
    alive: () => alive,
    faults: async (faults) => void (await ask((id) => ({ type: "faults", id, faults }))),
    go: () => send({ type: "go" }),
    remains: async (ms) => void (await ask((id) => ({ type: "remains", id, ms }))),
    inspect: async () => valueOf(await ask((id) => ({ type: "inspect", id }))) as Inspection,
    work: (messages, remainingMs = limitMs) =>
      invoke("work", eventOf(messages, options.sqs.urls["runs"] ?? ""), remainingMs),
    reconcile: () => invoke("reconcile", {}, 60_000),
    signal: (signal) => void child.kill(signal),
    untilStopped: async () => {
      await until(`${name} stands still`, () => stateOf(child.pid ?? -1) === "T");
    },
  };
}

function valueOf(answer: Invocation): unknown {
  if (answer.kind !== "answered") throw new Error(`no answer: ${JSON.stringify(answer)}`);
  return answer.value;
}

/** The state of a process by the kernel: R, S, D, T (stopped), Z. */
function stateOf(pid: number): string | undefined {
  try {
    return /\) (\w) /.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1];
  } catch {
    return undefined;
  }
}

function eventOf(messages: readonly Handed[], url: string) {
  const eventSourceARN = `arn:aws:sqs:us-east-1:000000000000:${url.split("/").at(-1)}`;
  return {
    Records: messages.map(({ messageId, receiptHandle, body }) => ({
      messageId,
      receiptHandle,
      body,
      eventSourceARN,
    })),
  };
}

/** Ids of the messages that an invocation's answer lets go (the table of partial batch responses). */
export function letGo(messages: readonly Handed[], invocation: Invocation): readonly string[] {
  if (invocation.kind !== "answered") return [];
  const { batchItemFailures } = invocation.value as { batchItemFailures: { itemIdentifier: string }[] };
  const kept = new Set(batchItemFailures.map((one) => one.itemIdentifier));
  return messages.map((one) => one.messageId).filter((id) => !kept.has(id));
}
