import type { GhoulsClient } from "@ghouls/client";
import { EXIT } from "./failure.ts";
import type { Io } from "./io.ts";
import { jsonText, printable } from "./printable.ts";
import { timelineLine } from "./timeline.ts";

/**
 * Prints each entry of a run's timeline until the run has ended, then how. With `json` one JSON object a line, the run
 * as the last.
 * @returns 0 if the run is DONE, 1 otherwise
 */
export async function follow(io: Io, client: GhoulsClient, runId: string, json: boolean): Promise<number> {
  for await (const entry of client.watch(runId, { pollMs: io.pollMs })) {
    io.out(json ? `${jsonText(entry)}\n` : timelineLine(entry));
  }
  const run = await client.getRun(runId);
  if (json) io.out(`${jsonText(run)}\n`);
  else if (run.error !== null) io.err(`ghouls: ${printable(`${run.error.code}: ${run.error.message}`)}\n`);
  else if (run.output !== null) io.out(`${jsonText(run.output, 2)}\n`);
  return run.status === "DONE" ? EXIT.ok : EXIT.failed;
}
