import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { GhoulsError } from "@ghouls/core";
import { lastWords, runElsewhere } from "./elsewhere.ts";

/** A function's folder, elsewhere than the project: nothing of it is found there that is not deployed. */
export interface Candidate {
  readonly entry: string;
  readonly folder: string;
}

/** Far above what Lambda gives a function to begin, which is 10 s. */
const PATIENCE_MS = 60_000;

/**
 * Loads each function once, as Lambda does before it invokes one.
 * @throws GhoulsError configuration_invalid naming the first that cannot be loaded, in its module's words
 */
export async function tryOut(candidates: readonly Candidate[], patienceMs = PATIENCE_MS): Promise<void> {
  let left = candidates;
  while (left.length > 0) {
    const all = await loaded(left, patienceMs);
    const culprit = left[all.count];
    if (culprit === undefined) return;
    // One process for all is quick, but what may be there only once fails at the second: alone it has its own.
    const alone = all.count === 0 ? all : await loaded([culprit], patienceMs);
    if (alone.count === 0) throw refused(culprit.entry, alone.words);
    left = left.slice(all.count + 1);
  }
}

interface Loaded {
  /** How many could be loaded, the first ones. */
  readonly count: number;
  /** Why the next one could not. */
  readonly words: string;
}

const LOAD = `for (const url of given) {
  try {
    const { handler } = await import(url);
    if (typeof handler !== "function") throw new Error("it exports no handler");
    say({ ok: true });
  } catch (error) {
    say({ words: wordsOf(error) });
    break;
  }
}
`;

async function loaded(candidates: readonly Candidate[], patienceMs: number): Promise<Loaded> {
  const urls = candidates.map(({ folder }) => pathToFileURL(join(folder, "index.mjs")).href);
  const { said, stderr, end } = await runElsewhere<Said>(LOAD, urls, patienceMs);
  // A process that ends itself says nothing of its own.
  const words = said.find((one) => one.words !== undefined)?.words ?? lastWords(stderr, end);
  return { count: said.filter(({ ok }) => ok === true).length, words };
}

interface Said {
  readonly ok?: true;
  readonly words?: string;
}

function refused(entry: string, words: string): GhoulsError {
  const missing = /Cannot find (?:package|module) '([^'/]+(?:\/[^'/]+)?)/.exec(words)?.[1];
  const named = missing === undefined || missing.startsWith(".") ? "…" : missing;
  return new GhoulsError("configuration_invalid", `the function ${entry} cannot be loaded: ${words}`, {
    fix:
      "Only what is bundled is there, or deployed beside it: a package that reads files of its own, or loads others by " +
      `name, belongs into build: { external: ["${named}"] } of ghouls.config.ts.`,
  });
}
