import { randomUUID } from "node:crypto";
import { link, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { GhoulsError, sha256 } from "@ghouls/core";
import { commandOf, isAlive } from "ghouls/processes/alive";
import { readIfThere } from "ghouls/processes/files";

/** Other hosts that fight for a stale lock at the same time; each round one of them wins. */
const ROUNDS = 50;
const ROUND_MS = 20;

/** The right to use a data folder. */
export interface DataDirLock {
  release(): Promise<void>;
}

/**
 * Takes the data folder for this process. The lock of a host that is gone is replaced.
 * @throws GhoulsError `configuration_invalid` where a live host has it
 */
export async function lockDataDir(dataDir: string): Promise<DataDirLock> {
  const file = join(dataDir, "host.lock");
  const mine = JSON.stringify({ pid: process.pid, command: await commandOf(process.pid), id: randomUUID() });
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, mine, { mode: 0o600 });
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      if (await linkIfFree(draft, file)) return { release: () => release(file, mine) };
      const theirs = await readIfThere(file);
      if (theirs === undefined) continue;
      const holder = await liveHolder(theirs);
      if (holder !== undefined) throw inUse(dataDir, holder);
      if (!(await removeStale(file, theirs, draft))) await delay(ROUND_MS);
    }
    throw inUse(dataDir, undefined);
  } finally {
    await rm(draft, { force: true });
  }
}

async function linkIfFree(draft: string, file: string): Promise<boolean> {
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

/** The process that a lock names, if it still runs and is the one that wrote it; a lock that cannot be read is stale. */
async function liveHolder(text: string): Promise<number | undefined> {
  try {
    const { pid, command } = JSON.parse(text) as { pid: unknown; command: unknown };
    if (typeof pid !== "number" || !isAlive(pid)) return undefined;
    return (await commandOf(pid)) === command ? pid : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Removes a stale lock. Only who holds the takeover of this very text may, and looks again under it: one that was slow
 * would else remove the lock that another has put there meanwhile.
 * @returns false where somebody else is at it
 */
async function removeStale(file: string, theirs: string, draft: string): Promise<boolean> {
  const takeover = `${file}.takeover-${sha256(theirs).slice(0, 16)}`;
  if (!(await linkIfFree(draft, takeover))) {
    // Its holder was killed in the few microseconds in which a takeover exists.
    const holder = await readIfThere(takeover);
    if (holder !== undefined && (await liveHolder(holder)) === undefined) await rm(takeover, { force: true });
    return false;
  }
  try {
    if ((await readIfThere(file)) === theirs) await rm(file, { force: true });
    return true;
  } finally {
    await rm(takeover, { force: true });
  }
}

async function release(file: string, mine: string): Promise<void> {
  if ((await readIfThere(file)) === mine) await rm(file, { force: true });
}

function inUse(dataDir: string, pid: number | undefined): GhoulsError {
  const who = pid === undefined ? "another host" : `another host (process ${pid})`;
  return new GhoulsError("configuration_invalid", `${who} uses the data folder ${dataDir}`, {
    fix: "End it first, or take another folder with --data-dir.",
  });
}
