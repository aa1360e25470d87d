import { readFile, readlink } from "node:fs/promises";
import { GhoulsError } from "@ghouls/core";
import { isAlive } from "../processes/alive.ts";
import { readIfThere } from "../processes/files.ts";

/** Within which numbers of processes mean something: one boot of one machine, and one namespace of its processes. */
export interface Machine {
  readonly boot: string;
  readonly namespace: string;
}

/**
 * This machine, by its kernel.
 * @throws GhoulsError configuration_invalid where the system has no such files
 */
export async function thisMachine(proc = "/proc"): Promise<Machine> {
  try {
    const [boot, namespace] = await Promise.all([
      readFile(`${proc}/sys/kernel/random/boot_id`, "utf8"),
      readlink(`${proc}/self/ns/pid`),
    ]);
    return { boot: boot.trim(), namespace };
  } catch (error) {
    throw new GhoulsError(
      "configuration_invalid",
      "this system does not tell one of its processes from a later one of the same number",
      { fix: "Leave --state-dir out: it needs Linux, with /proc.", cause: error },
    );
  }
}

export function isSame(one: Machine, other: Machine): boolean {
  return one.boot === other.boot && one.namespace === other.namespace;
}

/**
 * When a process of this machine was started, in ticks since its boot: with its number, it is that process and no later one.
 * Undefined where there is none, or none that still acts. Source: proc_pid_stat(5).
 * @throws Error where there is one, and the system does not show it to us
 */
export async function startedAt(pid: number, proc = "/proc"): Promise<string | undefined> {
  const stat = await readIfThere(`${proc}/${pid}/stat`);
  if (stat === undefined) {
    if (!isAlive(pid)) return undefined;
    throw new Error(`process ${pid} is there, and ${proc} does not show it`);
  }
  // Its name is the user's and may hold anything, brackets among it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const state = fields[0];
  return state === "Z" || state === "X" ? undefined : fields[19];
}
