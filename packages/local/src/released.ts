import { pinsOf } from "./changes.ts";
import type { Code } from "./code.ts";
import type { HostLedger } from "./parts.ts";
import { dataDirOption } from "./shell.ts";

/** How many runs go on with code of before, in words. Never rejects: nothing waits for them. */
export async function releasedLines(
  { releases }: Pick<HostLedger, "releases">,
  { manifest, accepts }: Pick<Code, "manifest" | "accepts">,
  dataDir: string,
): Promise<readonly string[]> {
  try {
    const carried = new Set([...pinsOf(manifest), ...accepts].map(({ name, digest }) => `${name}@${digest}`));
    const ridden = new Map(
      (await releases.all()).map(({ workflow: { name, digest }, runs }) => [`${name}@${digest}`, runs]),
    );
    const runs = [...ridden].reduce((sum, [pin, count]) => (carried.has(pin) ? sum : sum + count), 0);
    if (runs === 0) return [];
    const goOn = runs === 1 ? "1 run goes" : `${runs} runs go`;
    return [
      `${goOn} on with the code of before, which is kept for that: npx ghouls workflows releases${dataDirOption(dataDir)}`,
      `  npx ghouls dev replay <run>${dataDirOption(dataDir)}   the code of now carries it on instead, checked against its journal`,
    ];
  } catch (error) {
    return [`the runs of kept code could not be counted: ${String(error)}`];
  }
}
