import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";

/** Whether a process of this number exists. Numbers below 1 name groups of processes, or all of them. */
export function isAlive(pid: number): boolean {
  if (!isOneProcess(pid)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

/** Sends a signal to one process, never to the first of the machine; false where it is gone. */
export function signalIfAlive(pid: number, signal: NodeJS.Signals): boolean {
  if (!isOneProcess(pid) || pid === 1) return false;
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (codeOf(error) === "ESRCH") return false;
    throw error;
  }
}

function isOneProcess(pid: number): boolean {
  return Number.isSafeInteger(pid) && pid > 0;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

/**
 * The command line of a process, words separated by spaces; empty where it is gone. Process numbers are used again, so
 * nothing is ended by its number alone.
 */
export async function commandOf(pid: number): Promise<string> {
  try {
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8");
    return line.replaceAll("\0", " ").trim();
  } catch {
    return commandByPs(pid);
  }
}

/** The same where there is no /proc. */
export async function commandByPs(pid: number): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)("ps", ["-o", "command=", "-p", String(pid)]);
    return stdout.trim();
  } catch {
    return "";
  }
}

/** Waits until no process of this number is left, at most `ms` milliseconds. */
export async function untilGone(pid: number, ms: number): Promise<boolean> {
  for (let waited = 0; waited < ms; waited += 20) {
    if (!isAlive(pid)) return true;
    await delay(20);
  }
  return !isAlive(pid);
}
