import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Made } from "./apply/applier.ts";

/** What a stack has at its endpoint, kept in a file: what `up` has made is what `down` removes. */
export interface StackState {
  readonly endpoint: string;
  readonly stage: string;
  readonly secrets: readonly string[];
  readonly made: readonly Made[];
}

/** @throws Error for a file that is none of ours */
export async function readStack(file: string): Promise<StackState | undefined> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const state = JSON.parse(text) as Partial<StackState>;
  if (typeof state.endpoint === "string" && Array.isArray(state.made)) return state as StackState;
  throw new Error(
    `${file} does not say what a deploy has made. Remove it once the endpoint has been emptied.`,
  );
}

/** Whole or not at all, so that a deploy that is killed leaves what it knew. */
export async function writeStack(file: string, state: StackState): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(`${file}.next`, JSON.stringify(state, null, 2));
  await rename(`${file}.next`, file);
}

export async function removeStackFile(file: string): Promise<void> {
  await rm(file, { force: true });
}
