import { createHash } from "node:crypto";
import { join } from "node:path";
import * as z from "zod";
import { openFolder, readIfThere, writeDurably } from "./durable-file.ts";
import { SignRequest, Signed } from "./statement.ts";

const Callback = z.strictObject({ url: z.string(), token: z.string() });
export type Callback = z.infer<typeof Callback>;

const Job = z.discriminatedUnion("state", [
  z.strictObject({
    key: z.string(),
    state: z.literal("accepted"),
    request: SignRequest,
    callback: Callback.nullable(),
  }),
  z.strictObject({
    key: z.string(),
    state: z.literal("succeeded"),
    request: SignRequest,
    /** Whom to tell; null once that is done. */
    callback: Callback.nullable(),
    result: Signed,
  }),
  /** Also for a key that was never seen: what arrives later under it is cancelled already. */
  z.strictObject({ key: z.string(), state: z.literal("cancelled") }),
]);
export type Job = z.infer<typeof Job>;

/** The jobs, one file each, named after their keys' digests. They are kept for good: a key that is forgotten could be taken again. */
export interface Jobs {
  get(key: string): Promise<Job | undefined>;
  /**
   * Moves a job, and has it on the disk when it resolves. Moves of one key happen one after the other.
   * @param move what comes of it; the very same job changes nothing
   */
  move<T extends Job | undefined>(key: string, move: (job: Job | undefined) => T): Promise<T>;
}

/**
 * Opens the jobs of a folder, of which one process at a time may write.
 * @returns with those that are not at their end: not carried out, or not told
 */
export async function openJobs(folder: string): Promise<{ jobs: Jobs; open: readonly Job[] }> {
  const names = await openFolder(folder);
  const last = new Map<string, Promise<unknown>>();
  const fileOf = (key: string) => join(folder, `${digestOf(key)}.json`);
  const get: Jobs["get"] = async (key) => read(fileOf(key));
  const jobs: Jobs = {
    get,
    move: (key, move) => {
      const moving = (last.get(key) ?? Promise.resolve()).then(async () => {
        const before = await get(key);
        const after = move(before);
        if (after !== undefined && after !== before) await writeDurably(fileOf(key), JSON.stringify(after));
        return after;
      });
      // Whoever comes next does not mind how this one ends.
      const settled = moving.then(forget, forget);
      function forget(): void {
        if (last.get(key) === settled) last.delete(key);
      }
      last.set(key, settled);
      return moving;
    },
  };
  const all = await Promise.all(names.map((name) => read(join(folder, name))));
  return { jobs, open: all.filter((job) => job !== undefined).filter(isOpen) };
}

async function read(file: string): Promise<Job | undefined> {
  const text = await readIfThere(file);
  return text === undefined ? undefined : Job.parse(JSON.parse(text));
}

function isOpen(job: Job): boolean {
  return job.state === "accepted" || (job.state === "succeeded" && job.callback !== null);
}

/** Keys may be anything; a file's name may not. Its beginning names a job in the log. */
export function digestOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}
