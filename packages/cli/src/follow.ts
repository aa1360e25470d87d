import type { GhoulsClient } from "@ghouls/client";
import type { wire } from "@ghouls/core";
import { EXIT } from "./failure.ts";
import type { Io } from "./io.ts";
import { jsonText, printable, printableLines } from "./printable.ts";
import { timelineLine } from "./timeline.ts";

/**
 * Prints what happens to a run as it happens, and what it says live, until it has ended, then how. With `json` one JSON
 * object a line, the run as the last.
 * @returns 0 if the run is DONE, 1 otherwise
 */
export async function follow(io: Io, client: GhoulsClient, runId: string, json: boolean): Promise<number> {
  const tell = json ? (event: wire.RunEvent) => io.out(`${jsonText(event)}\n`) : inWords(io);
  for await (const { events } of client.follow(runId)) events.forEach(tell);
  const run = await client.getRun(runId);
  if (json) io.out(`${jsonText(run)}\n`);
  else if (run.error !== null) io.err(`ghouls: ${printable(`${run.error.code}: ${run.error.message}`)}\n`);
  else if (run.output !== null) io.out(`${jsonText(run.output, 2)}\n`);
  return run.status === "DONE" ? EXIT.ok : EXIT.failed;
}

/** Chunks of one channel run on as one text; a line of something else begins anew. */
function inWords(io: Io): (event: wire.RunEvent) => void {
  let channel: string | undefined;
  return (event) => {
    if (event.kind === "chunk") {
      if (channel !== event.channel)
        io.out(`${channel === undefined ? "" : "\n"}${event.at}  ${printable(event.channel)}: `);
      channel = event.channel;
      io.out(printableLines(event.chunk));
      return;
    }
    if (channel !== undefined) io.out("\n");
    channel = undefined;
    if (event.kind === "emitted") io.out(`${event.at}  ${printable(event.name)} ${jsonText(event.data)}\n`);
    else if (event.kind === "gap") io.out(`${event.at}  something that was said live is missing here\n`);
    else io.out(timelineLine(event));
  };
}
