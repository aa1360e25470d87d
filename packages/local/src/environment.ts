import { randomUUID } from "node:crypto";
import type { Child, ChildMessage, ProcessEnd } from "ghouls/processes/child";
import { describeEnd, isMessage, startChild, untilReady } from "ghouls/processes/child";
import type { InvocationResult } from "./lambda-table.ts";
import type { HostLog } from "./log.ts";

export interface EnvironmentOptions {
  /** Identity of the process, in its claims and in the log. */
  readonly worker: string;
  readonly entry: URL;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly log: HostLog;
  /** Limit of one invocation in milliseconds; then the process is killed, as Lambda does. None for a process with an inspector. */
  readonly timeoutMs: number;
  /** Limit of its start, in milliseconds. */
  readonly initTimeoutMs: number;
  /** Gives it an inspector on this port of loopback, 0 for any; then none of its limits is enforced. */
  readonly inspect?: number;
  /** Told where its inspector listens. */
  readonly onInspector?: () => void;
}

/** One process as an execution environment of Lambda: it starts, serves one invocation at a time, and is killed. */
export interface Environment {
  readonly worker: string;
  readonly pid: number;
  /** Whether it can take another invocation. */
  alive(): boolean;
  /** Whether an invocation is under way. */
  busy(): boolean;
  /** Resolves when its code is loaded; rejects where that failed. */
  readonly ready: Promise<unknown>;
  /** Resolves with how it ended, in words. */
  readonly ended: Promise<string>;
  /** Never rejects: a process that ends, by itself or by the timeout, is a failed invocation. */
  invoke(event: unknown): Promise<InvocationResult>;
  /** Asks it to hand over what it carries: workers take nothing more, and their runs go on elsewhere. */
  drain(): void;
  kill(): void;
  /** Where its inspector listens, once it does. */
  inspector(): string | undefined;
}

/** Whoever stands at a breakpoint has all the time of Node's longest timer. */
const UNLIMITED_MS = 2 ** 31 - 1;

/** Starts an environment. `ready` and `invoke` tell what came of it. */
export function startEnvironment(options: EnvironmentOptions): Environment {
  const child = startChild({
    source: options.worker,
    entry: options.entry,
    args: options.args,
    env: {
      ...options.env,
      GHOULS_WORKER_ID: options.worker,
      ...(options.inspect === undefined ? {} : { GHOULS_INSPECT: String(options.inspect) }),
    },
    log: options.log,
  });
  const state: State = { child, alive: true, killedFor: undefined, inspector: undefined, busy: false };
  const timeoutMs = options.inspect === undefined ? options.timeoutMs : UNLIMITED_MS;
  child.process.on("message", (message) => {
    if (!isMessage(message) || message.type !== "inspector") return;
    state.inspector = String(message["url"]);
    options.onInspector?.();
  });
  const kill = (reason: string | undefined): void => {
    state.killedFor ??= reason;
    state.alive = false;
    child.kill("SIGKILL");
  };
  const ended = child.ended.then((end) => {
    state.alive = false;
    return describe(state, end);
  });
  const initMs = options.inspect === undefined ? options.initTimeoutMs : UNLIMITED_MS;
  const initTimer = setTimeout(() => kill("its start took too long"), initMs);
  const ready = untilReady(child, options.worker).finally(() => clearTimeout(initTimer));
  ready.catch(() => kill(undefined));
  return {
    worker: options.worker,
    pid: child.pid,
    alive: () => state.alive,
    busy: () => state.busy,
    ready,
    ended,
    invoke: (event) => invoke(state, event, timeoutMs, ended, kill),
    drain: () => child.kill("SIGTERM"),
    kill: () => kill("stopped by the host"),
    inspector: () => state.inspector,
  };
}

interface State {
  readonly child: Child;
  alive: boolean;
  killedFor: string | undefined;
  inspector: string | undefined;
  busy: boolean;
}

function describe(state: State, end: ProcessEnd): string {
  const how = describeEnd(end);
  return state.killedFor === undefined ? how : `${how} (${state.killedFor})`;
}

async function invoke(
  state: State,
  event: unknown,
  timeoutMs: number,
  ended: Promise<string>,
  kill: (reason: string) => void,
): Promise<InvocationResult> {
  const id = randomUUID();
  const timer = setTimeout(() => kill(`timeout after ${timeoutMs} ms`), timeoutMs);
  const answer = Promise.withResolvers<InvocationResult>();
  const listen = (message: unknown): void => {
    if (isMessage(message) && message.type === "result" && message["id"] === id)
      answer.resolve(readResult(message));
  };
  state.child.process.on("message", listen);
  void ended.then((how) => answer.resolve({ ok: false, reason: `the process ended: ${how}` }));
  state.child.send({ type: "invoke", id, event, remainingMs: timeoutMs });
  state.busy = true;
  const result = await answer.promise;
  state.busy = false;
  clearTimeout(timer);
  state.child.process.off("message", listen);
  return result;
}

/** The response travels as the JSON text that Lambda would have sent. */
function readResult(message: ChildMessage): InvocationResult {
  const body = message["body"];
  if (typeof body === "string") return { ok: true, value: JSON.parse(body) as unknown };
  return { ok: false, reason: String(message["error"]) };
}
