import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../support/free-port.ts";
import { until } from "../support/wait.ts";
import { installMinistack } from "./ministack.ts";

/** A LocalStack-compatible endpoint for the tests. */
export interface Emulator {
  readonly endpoint: string;
  /** Ends what was started for the tests; one that was there before is left alone. */
  stop(): Promise<void>;
}

/** The endpoint of AWS_ENDPOINT_URL, else ministack in a virtual environment of the tests' own, else why there is neither. */
export async function findEmulator(): Promise<Emulator | { readonly missing: string }> {
  const given = process.env["AWS_ENDPOINT_URL"];
  if (given !== undefined && given !== "") {
    return { endpoint: given.replace(/\/$/, ""), stop: () => Promise.resolve() };
  }
  const installed = installMinistack();
  return "missing" in installed ? installed : startMinistack(installed.command);
}

async function startMinistack(command: string): Promise<Emulator> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "ghouls-ministack-"));
  const log = openSync(join(folder, "log"), "a");
  const child = spawn(command, [], {
    cwd: folder,
    stdio: ["ignore", log, log],
    // A process group of its own: the functions are its children.
    detached: true,
    env: {
      ...process.env,
      GATEWAY_PORT: String(port),
      BIND_HOST: "127.0.0.1",
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
      TMPDIR: folder,
    },
  });
  const endpoint = `http://127.0.0.1:${port}`;
  try {
    await until(`ministack at ${endpoint}`, async () => answers(endpoint, child));
  } catch (error) {
    await end(child, folder);
    throw error;
  }
  return { endpoint, stop: () => end(child, folder) };
}

async function answers(endpoint: string, child: ChildProcess): Promise<boolean> {
  if (child.exitCode !== null) throw new Error(`ministack ended with ${child.exitCode}`);
  return fetch(`${endpoint}/_localstack/health`).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** Ends the whole group: a function outlives an emulator that crashed or was killed. Then the folder goes. */
export async function end(child: ChildProcess, folder: string): Promise<void> {
  const { pid } = child;
  if (pid !== undefined) {
    signal(pid, "SIGTERM");
    try {
      await until(`the processes of group ${pid} to end`, () => !signal(pid, 0), 10_000);
    } catch {
      // They have been asked for long enough.
      signal(pid, "SIGKILL");
    }
  }
  if (existsSync(folder)) rmSync(folder, { recursive: true, force: true });
}

/** Whether anything of the group was there to be told. */
function signal(group: number, what: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, what);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}
