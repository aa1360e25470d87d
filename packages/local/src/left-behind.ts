import { commandOf, isAlive, signalIfAlive, untilGone } from "ghouls/processes/alive";
import type { EndRecorder } from "ghouls/processes/worker-ends";
import type { ProcessEntry } from "./state.ts";

/**
 * Makes sure that the processes of a host that was killed are gone, and records the end of its workers. They end by
 * themselves when their host does; one that does not is killed, if it still is the program that we had started.
 * @param programs parts of the command lines of our own programs
 */
export async function endLeftBehind(
  entries: readonly ProcessEntry[],
  programs: readonly string[],
  recorder: EndRecorder,
): Promise<void> {
  const workers = entries.filter((entry) => entry.worker !== undefined);
  await Promise.all(
    workers.map(async ({ pid, worker = "" }) => {
      if (pid > 0 && (await isOurs(pid, programs))) {
        signalIfAlive(pid, "SIGKILL");
        if (!(await untilGone(pid, 5_000))) return;
      }
      await recorder.record(worker, "its host ended");
    }),
  );
}

async function isOurs(pid: number, programs: readonly string[]): Promise<boolean> {
  if (!isAlive(pid)) return false;
  const command = await commandOf(pid);
  return programs.some((program) => command.includes(program));
}
