import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { GhoulsError, isTerminalRun } from "@ghouls/core";
import type { wire } from "@ghouls/core";
import type { Print } from "./log.ts";
import type { Example } from "./parts.ts";
import { entryKey, formatEntry } from "./timeline.ts";

export interface OnceOptions {
  readonly apiUrl: string;
  /** Bearer token of a submitter. */
  readonly token: string;
  readonly examples: readonly Example[];
  readonly print: Print;
  /** Between two looks at a run, in milliseconds; 100 by default. */
  readonly pollMs?: number;
  /** How long to wait for one run, in milliseconds; 15 minutes by default. */
  readonly patienceMs?: number;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
}

/** One line of the last line's `runs`. */
interface SettledRun {
  readonly runId: string;
  readonly workflow: string;
  readonly status: string;
  readonly enqueueSeq: number;
  readonly steps: number;
}

export interface OnceResult {
  /** Whether there was a run, and all are DONE. */
  readonly ok: boolean;
  readonly runs: readonly SettledRun[];
}

/**
 * Submits each example over HTTP under a key of its own, prints each run's timeline as it grows, and waits until all
 * are terminal.
 * @throws GhoulsError where the API refuses a call, or a run is not terminal in time
 */
export async function carryExamples(options: OnceOptions): Promise<OnceResult> {
  const width = Math.max(0, ...options.examples.map((example) => example.workflow.length));
  const start = randomUUID();
  const runs = await Promise.all(
    options.examples.map(async (example, index) => {
      const admitted = await submit(options, example, `once-${start}-${index}`);
      options.print(`${example.workflow.padEnd(width)}  run ${admitted.runId}`);
      return follow(options, example.workflow, width, admitted.runId);
    }),
  );
  return { ok: runs.length > 0 && runs.every((run) => run.status === "DONE"), runs };
}

async function submit(options: OnceOptions, example: Example, key: string): Promise<wire.Admitted> {
  const response = await call(options, "/v1/runs", {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": key },
    body: JSON.stringify({ workflow: example.workflow, input: example.input }),
  });
  return (await read(response)) as wire.Admitted;
}

async function follow(
  options: OnceOptions,
  workflow: string,
  width: number,
  runId: string,
): Promise<SettledRun> {
  const seen = new Set<string>();
  const patience = AbortSignal.timeout(options.patienceMs ?? 900_000);
  const signal = AbortSignal.any([options.signal, patience]);
  for (;;) {
    const timeline = (await read(await call(options, `/v1/runs/${runId}/timeline`, {}))) as wire.Timeline;
    printNew(options.print, workflow, width, timeline, seen);
    if (isTerminalRun(timeline.status)) break;
    await delay(options.pollMs ?? 100, undefined, { signal }).catch(() => undefined);
    if (patience.aborted)
      throw new GhoulsError("internal", `run ${runId} did not end in time (${timeline.status})`);
    options.signal.throwIfAborted();
  }
  const view = (await read(await call(options, `/v1/runs/${runId}`, {}))) as wire.RunView;
  const { status, enqueueSeq, steps, error } = view;
  if (error !== null && error !== undefined)
    options.print(`${workflow.padEnd(width)}  ${error.code}: ${error.message}`);
  return { runId, workflow, status, enqueueSeq, steps };
}

function printNew(
  print: Print,
  workflow: string,
  width: number,
  timeline: wire.Timeline,
  seen: Set<string>,
): void {
  const startMs = Date.parse(timeline.entries[0]?.at ?? "");
  for (const entry of timeline.entries) {
    const key = entryKey(entry);
    if (seen.has(key)) continue;
    seen.add(key);
    print(formatEntry(workflow, width, startMs, entry));
  }
}

function call(options: OnceOptions, path: string, init: RequestInit): Promise<Response> {
  return fetch(new URL(path, options.apiUrl), {
    ...init,
    headers: {
      ...(init.headers as Record<string, string> | undefined),
      authorization: `Bearer ${options.token}`,
    },
    signal: options.signal,
  });
}

/** The body of an answer. @throws GhoulsError with what the API's problem says */
async function read(response: Response): Promise<unknown> {
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  const problem = readProblem(text);
  throw new GhoulsError(
    "internal",
    `the API answered ${response.status}: ${problem.detail ?? text.slice(0, 200)}`,
    problem.fix === undefined ? {} : { fix: problem.fix },
  );
}

function readProblem(text: string): Partial<wire.Problem> {
  try {
    const problem: unknown = JSON.parse(text);
    return typeof problem === "object" && problem !== null ? (problem as Partial<wire.Problem>) : {};
  } catch {
    return {};
  }
}
