import { pinsOf, short } from "./changes.ts";
import { DEV_TENANT } from "./child-environment.ts";
import type { Code } from "./code.ts";
import type { HostLedger, StrandedRuns } from "./parts.ts";
import { dataDirOption } from "./shell.ts";

/** How many are named; the others are counted. */
const NAMED = 5;

/** What may become of the runs that this code does not carry. Never rejects: nothing waits for them. */
export async function strandedLines(
  { runs }: Pick<HostLedger, "runs">,
  { manifest, accepts }: Pick<Code, "manifest" | "accepts">,
  dataDir: string,
): Promise<readonly string[]> {
  try {
    return describeStranded(
      await runs.stranded(DEV_TENANT, [...pinsOf(manifest), ...accepts], NAMED),
      dataDir,
    );
  } catch (error) {
    return [`the runs of other code could not be looked for: ${String(error)}`];
  }
}

/**
 * The lines that offer what may become of runs whose code is not here any more. None of it is done by itself, and nothing
 * waits for it: the start goes on, and so does every other run.
 */
function describeStranded({ runs, count }: StrandedRuns, dataDir: string): readonly string[] {
  if (count === 0) return [];
  const names = runs.map(({ runId, status, workflow: { name, version, digest } }) => {
    return `  ${runId}  ${name}@${version} (${short(digest)})  ${status}`;
  });
  const others = count - runs.length;
  const elsewhere = dataDirOption(dataDir);
  return [
    count === 1
      ? "1 run is of code that is not here any more; what becomes of it is yours to say:"
      : `${count} runs are of code that is not here any more; what becomes of each is yours to say:`,
    ...names,
    ...(others > 0 ? [`  and ${others} more: npx ghouls runs${elsewhere}`] : []),
    `  npx ghouls dev replay <run>${elsewhere}   the code of now carries it on, checked against its journal`,
    `  npx ghouls dev restart <run>${elsewhere}  asks for the same anew, and cancels it`,
    `  npx ghouls dev discard <run>${elsewhere}  cancels it`,
  ];
}
