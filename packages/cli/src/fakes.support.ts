import { mkdtemp, rm, writeFile, mkdir } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { wire } from "@ghouls/core";
import { onTestFinished } from "vitest";
import type { Io } from "./io.ts";
import { run } from "./program.ts";

/** A world around the command for one test: a folder of its own, no environment, nothing installed. */

export const RUN_ID = "0b0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c";
export const AT = "2026-01-02T03:04:05.678Z";
const WORKFLOW = { name: "hello", version: 1, digest: "d1" };
export const ADMITTED = {
  runId: RUN_ID,
  created: true,
  status: "QUEUED",
  enqueueSeq: 1,
  workflow: WORKFLOW,
  queue: "runs",
  priority: 5,
  held: false,
  startsAt: null,
};

export const SUMMARY = {
  runId: RUN_ID,
  workflow: WORKFLOW,
  status: "DONE",
  queue: "runs",
  priority: 5,
  agent: null,
  labels: {},
  idempotencyKey: "order-1",
  requestedBy: "sam",
  enqueueSeq: 1,
  steps: 1,
  errorCode: null as string | null,
  parentRunId: null as string | null,
  redriveOf: null as string | null,
  redrivenAs: null as string | null,
  attention: null as { reason: string; at: string } | null,
  quarantine: null,
  pausedAt: null,
  pauses: [] as wire.HeldBy[],
  deadlineAt: null,
  createdAt: AT,
  startsAt: null,
  startedAt: AT,
  finishedAt: AT,
};
export const VIEW = {
  ...SUMMARY,
  input: { name: "world" },
  output: { greeting: "Hello, world." },
  error: null,
  waits: [],
  reservations: [],
  bodiesEmptiedAt: null,
  containment: [],
};

export async function folder(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "ghouls-cli-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), text);
  }
  return path;
}

export interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const unused = () => {
  throw new Error("this test did not expect the ledger");
};

/** Runs the command and keeps what it printed. */
export async function ghouls(argv: readonly string[], world: Partial<Io> = {}): Promise<Outcome> {
  let out = "";
  let err = "";
  const code = await run(argv, {
    env: {},
    cwd: world.cwd ?? (await folder()),
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    readStdin: () => Promise.resolve(""),
    loadLocal: () => Promise.reject(new Error("this test did not expect @ghouls/local")),
    loadWorker: () => Promise.reject(new Error("this test did not expect a worker")),
    loadDeployment: () => Promise.reject(new Error("this test did not expect @ghouls/functions")),
    ledger: { migrate: unused, migrationSql: unused, openLedger: unused, openStores: unused },
    user: () => "olga",
    randomBytes: () => unused(),
    ask: undefined,
    ...world,
  });
  return { code, out, err };
}

interface Asked {
  readonly line: string;
  readonly token: string | undefined;
  readonly key: string | undefined;
  readonly body: unknown;
}

/** An API on loopback that answers each "METHOD /path" from its table; a list answers in turn, its last one stays. */
export async function api(table: Readonly<Record<string, unknown>>) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      asked.push({
        line: `${request.method} ${request.url}`,
        token: request.headers.authorization,
        key: request.headers["idempotency-key"] as string | undefined,
        body: text === "" ? undefined : JSON.parse(text),
      });
      let answer = table[`${request.method} ${request.url?.split("?")[0]}`];
      if (Array.isArray(answer)) answer = answer.length > 1 ? answer.shift() : answer[0];
      const status = (answer as { status?: unknown } | undefined)?.status;
      response.writeHead(typeof status === "number" ? status : 200).end(JSON.stringify(answer ?? {}));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { asked, url, env: { GHOULS_API_URL: url, GHOULS_TOKEN: "env-token" } };
}

const unasked = () => Promise.reject(new Error("this test did not expect releases"));

/** Of a ledger whose releases nobody asks about. */
export const NO_RELEASES = {
  all: unasked,
  newest: unasked,
  record: unasked,
  removeUnpinned: unasked,
  toDelete: unasked,
  markDeleted: unasked,
};
