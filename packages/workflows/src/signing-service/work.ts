import { setTimeout as delay } from "node:timers/promises";
import { callBack } from "./callback.ts";
import { digestOf } from "./jobs.ts";
import type { Job, Jobs } from "./jobs.ts";
import type { Signer } from "./keys.ts";

export interface WorkOptions {
  readonly jobs: Jobs;
  readonly signer: Signer;
  /** How long a job waits for its turn, in milliseconds. */
  readonly turnMs: number;
  readonly log: (text: string) => void;
}

/** What a service says of a job. */
export function reportOf(job: Job): object {
  return job.state === "succeeded" ? { state: job.state, result: job.result } : { state: job.state };
}

/**
 * Carries a job out, after its answer, and tells whoever asked for it. Whatever it is killed in, the next start does the rest:
 * signing again gives the same bytes, and whoever is told twice knows it. What cannot be written rejects: the process ends then.
 */
export async function carryOut(key: string, { jobs, signer, turnMs, log }: WorkOptions): Promise<void> {
  await delay(turnMs);
  const job = await jobs.move(key, (found) =>
    found?.state === "accepted"
      ? { ...found, state: "succeeded" as const, result: signer.sign(found.request) }
      : found,
  );
  const name = digestOf(key).slice(0, 12);
  if (job?.state !== "succeeded") return;
  log(`job ${name} is signed`);
  if (job.callback === null) return;
  if (!(await callBack(job.callback, reportOf(job)))) {
    log(`whoever asked for job ${name} cannot be told; it may ask, and is told at the next start`);
    return;
  }
  // Its token is of no more use here.
  await jobs.move(key, (found) => (found?.state === "succeeded" ? { ...found, callback: null } : found));
}
