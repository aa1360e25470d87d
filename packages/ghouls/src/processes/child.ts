import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import { GhoulsError } from "@ghouls/core";

/** How a process ended: by itself with a code, or by a signal. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ChildOptions {
  /** Name for the log. */
  readonly source: string;
  readonly entry: URL;
  readonly args?: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Takes the lines that it writes; where absent, they go where this process writes its own, and outlive it. */
  readonly log?: { follow(source: string, stream: Readable): void };
}

export interface Child {
  readonly pid: number;
  readonly process: ChildProcess;
  /** Resolves once, with how it ended. Never rejects. */
  readonly ended: Promise<ProcessEnd>;
  /** Sends a message; false where the process is gone. */
  send(message: object): boolean;
  kill(signal: NodeJS.Signals): void;
}

/** A program beside a module: `.ts` in the repository, `.js` where it is published. */
export function entryBeside(moduleUrl: string, path: string): URL {
  return new URL(`${path}.${moduleUrl.endsWith(".ts") ? "ts" : "js"}`, moduleUrl);
}

/**
 * Starts a Node process with a channel to it. It stands in a session of its own, so that a Ctrl-C in
 * the terminal reaches this process only, which then ends it in order. What it does when the channel breaks is its own.
 */
export function startChild(options: ChildOptions): Child {
  const child = fork(options.entry, [...(options.args ?? [])], {
    env: options.env,
    execArgv: [],
    detached: true,
    serialization: "json",
    stdio:
      options.log === undefined ? ["ignore", "inherit", "inherit", "ipc"] : ["ignore", "pipe", "pipe", "ipc"],
  });
  const ended = new Promise<ProcessEnd>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", () => {
      if (child.pid === undefined) resolve({ code: -1, signal: null });
    });
  });
  if (child.stdout !== null) options.log?.follow(options.source, child.stdout);
  if (child.stderr !== null) options.log?.follow(options.source, child.stderr);
  return {
    pid: child.pid ?? -1,
    process: child,
    ended,
    send: (message) => child.pid !== undefined && child.connected && child.send(message, () => undefined),
    kill: (signal) => void child.kill(signal),
  };
}

/** The end in words, such as "exit code 1" or "SIGKILL". */
export function describeEnd(end: ProcessEnd): string {
  return end.signal ?? `exit code ${end.code}`;
}

/** A message of a child process with a `type`. */
export interface ChildMessage {
  readonly type: string;
  readonly [key: string]: unknown;
}

export function isMessage(value: unknown): value is ChildMessage {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

/**
 * Waits for a message of a child, `ready` by default.
 * @throws GhoulsError `internal` where it ends before, or sends `failed` with a reason (and a fix)
 */
export function untilReady(child: Child, what: string, type = "ready"): Promise<ChildMessage> {
  return new Promise((resolve, reject) => {
    const listen = (message: unknown): void => {
      if (!isMessage(message) || (message.type !== type && message.type !== "failed")) return;
      child.process.off("message", listen);
      if (message.type === type) resolve(message);
      else reject(failureOf(message, what));
    };
    child.process.on("message", listen);
    void child.ended.then((end) =>
      reject(
        new GhoulsError("internal", `${what} ended before it was ready: ${describeEnd(end)}`, {
          fix: "Its last lines are in the log.",
        }),
      ),
    );
  });
}

function failureOf(message: ChildMessage, what: string): GhoulsError {
  const fix = message["fix"];
  return new GhoulsError(
    "internal",
    `${what} could not start: ${String(message["message"])}`,
    typeof fix === "string" ? { fix } : {},
  );
}

/**
 * Ends a child: asks with `signal`, and ends it by force after `graceMs` milliseconds.
 * @returns how it ended
 */
export async function endChild(child: Child, signal: NodeJS.Signals, graceMs: number): Promise<ProcessEnd> {
  child.kill(signal);
  const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
  try {
    return await child.ended;
  } finally {
    clearTimeout(timer);
  }
}
