import { randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { floor } from "./floor.ts";

/** The load, as a process of its own: it asks the API as a client would, and runs the floor. One order at a time. */

export type Order =
  | { readonly type: "floor"; readonly connections: number; readonly seconds: number }
  /** Admits with so many requests open, until the number or the time is reached. */
  | {
      readonly type: "admit";
      readonly workflow: string;
      readonly queue: string;
      readonly inFlight: number;
      readonly count: number;
      readonly seconds: number;
    }
  /** Admits at a rate, whatever the answers do. */
  | { readonly type: "pace"; readonly workflow: string; readonly rate: number; readonly count: number };

export interface Loaded {
  readonly runs: number;
  readonly seconds: number;
  /** Of "pace": run ids with the wall-clock time at which each request was sent, and when the request should have been. */
  readonly sent?: readonly { readonly runId: string; readonly sentAtMs: number; readonly lateMs: number }[];
}

const api = new URL("/v1/runs", process.env["BENCH_API_URL"]);
const token = process.env["BENCH_TOKEN"] ?? "";
const databaseUrl = process.env["DATABASE_URL"] ?? "";
const agent = new Agent({ keepAlive: true });

/** Admits one run; answers its id. */
function admit(workflow: string, queue: string, key: string = randomUUID()): Promise<string> {
  const body = JSON.stringify({ workflow, queue, input: null });
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "idempotency-key": key,
    };
    const sent = request(api, { method: "POST", agent, headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      answer.once("error", reject);
      answer.once("end", () => {
        if (answer.statusCode === 202) resolve((JSON.parse(text) as { runId: string }).runId);
        else reject(new Error(`an admission was answered ${answer.statusCode}: ${text.slice(0, 500)}`));
      });
    });
    sent.once("error", (error) => {
      // The server had closed the kept connection just then: the same request goes on another (Node, http.ClientRequest).
      if (sent.reusedSocket) resolve(admit(workflow, queue, key));
      else reject(error);
    });
    sent.end(body);
  });
}

async function admitMany(order: Extract<Order, { type: "admit" }>): Promise<Loaded> {
  const started = performance.now();
  const end = started + order.seconds * 1_000;
  let [taken, runs] = [0, 0];
  const lane = async (): Promise<void> => {
    while (taken < order.count && performance.now() < end) {
      taken += 1;
      await admit(order.workflow, order.queue);
      runs += 1;
    }
  };
  await Promise.all(Array.from({ length: order.inFlight }, lane));
  return { runs, seconds: (performance.now() - started) / 1_000 };
}

async function pace({ workflow, rate, count }: Extract<Order, { type: "pace" }>): Promise<Loaded> {
  const started = performance.now();
  const answers: Promise<{ runId: string; sentAtMs: number; lateMs: number }>[] = [];
  for (let at = 0; at < count; at += 1) {
    const due = started + (at * 1_000) / rate;
    const wait = due - performance.now();
    if (wait > 0) await delay(wait);
    const [sentAtMs, lateMs] = [Date.now(), performance.now() - due];
    answers.push(admit(workflow, "runs").then((runId) => ({ runId, sentAtMs, lateMs })));
  }
  const sent = await Promise.all(answers);
  return { runs: sent.length, seconds: (performance.now() - started) / 1_000, sent };
}

function carryOut(order: Order): Promise<Loaded> {
  switch (order.type) {
    case "floor":
      return floor(databaseUrl, order.connections, order.seconds);
    case "admit":
      return admitMany(order);
    case "pace":
      return pace(order);
  }
}

process.on("SIGINT", () => undefined);
process.once("disconnect", () => process.exit(0));
process.on("message", (order: Order) => {
  carryOut(order).then(
    (value) => process.send?.({ type: "done", value }),
    (error: unknown) => process.send?.({ type: "done", error: String(error) }),
  );
});
process.send?.({ type: "ready" });
