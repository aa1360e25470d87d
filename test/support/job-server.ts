import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll } from "vitest";

/** A job service behind HTTP that keeps what it promises, and counts what it was asked to do. */
export interface JobServer {
  readonly origin: string;
  /** The address of jobs whose keys are one job each, and that are found once they were taken. */
  readonly url: string;
  /** The address of jobs of which every submission is another one, and that are not always found. */
  readonly onceUrl: string;
  /** How often jobs of a run began to act: with one key more than once where they are submitted twice. */
  effects(runId: string): number;
  submissions(runId: string): number;
  /** What it has taken is done now. */
  finish(): void;
  /** Submissions get no answer until the returned function is called; they are taken all the same. */
  hold(): () => void;
}

interface Taken {
  readonly runId: string;
  readonly once: boolean;
  effects: number;
  submissions: number;
  done: boolean;
}

export async function jobServer(): Promise<JobServer> {
  const jobs = new Map<string, Taken>();
  let held: Promise<void> | undefined;
  const server = createServer((request, response) => {
    const [, list = "", named] = (request.url ?? "").split("/").map(decodeURIComponent);
    const key = named ?? String(request.headers["idempotency-key"]);
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => (text += chunk));
    const answerIt = async (): Promise<void> => {
      const answer = (status: number, body?: object) =>
        response.writeHead(status).end(body === undefined ? "" : JSON.stringify(body));
      const job = jobs.get(key);
      if (request.method === "POST") {
        const { what: runId } = JSON.parse(text) as { what: string };
        const taken = job ?? { runId, once: list === "once", effects: 0, submissions: 0, done: false };
        jobs.set(key, taken);
        taken.submissions += 1;
        if (job === undefined || taken.once) taken.effects += 1;
        await held;
        return void answer(202, { state: "accepted" });
      }
      if (job === undefined) return void answer(404);
      if (job.done)
        return void answer(200, { state: "succeeded", result: { done: `${job.runId} was signed` } });
      if (request.method === "DELETE") jobs.set(key, { ...job, done: false });
      answer(200, { state: request.method === "DELETE" ? "cancelled" : "running" });
    };
    request.on("end", () => void answerIt());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sum = (runId: string, count: (job: Taken) => number) =>
    [...jobs.values()].filter((job) => job.runId === runId).reduce((total, job) => total + count(job), 0);
  return {
    origin,
    url: `${origin}/jobs`,
    onceUrl: `${origin}/once`,
    effects: (runId) => sum(runId, (job) => job.effects),
    submissions: (runId) => sum(runId, (job) => job.submissions),
    finish: () => {
      for (const job of jobs.values()) job.done = true;
    },
    hold: () => {
      const released = Promise.withResolvers<void>();
      held = released.promise;
      return () => {
        held = undefined;
        released.resolve();
      };
    },
  };
}
