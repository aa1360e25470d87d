import * as z from "zod";
import type { AnyService, AnyWorkflow, Duration } from "@ghouls/core";
import { payout } from "../../packages/workflows/src/payout/payout.ts";
import {
  defineConfig,
  httpService,
  workflow,
  type Config,
  type StepContext,
  type WorkflowContext,
} from "ghouls";

/**
 * The workflows of the crash tests. They run in processes of their own: all that a test sees of them stands at the
 * service of http-stub.ts and in the ledger.
 */

function service(path: string): string {
  return `${process.env["STUB_URL"]}/${path}`;
}

/** The services of job-server.ts: one keeps keys apart and finds what it has, the other knows only what it is asked to do. */
export function jobServicesAt(origin: string) {
  const job = { request: z.object({ what: z.string() }), result: z.object({ done: z.string() }) };
  const times = { delay: "1s", poll: "5s", timeout: "5s" } as const;
  return {
    keyed: httpService({
      ...job,
      ...times,
      url: `${origin}/jobs`,
      lookup: "authoritative",
      submit: "idempotent",
    }),
    once: httpService({ ...job, ...times, url: `${origin}/once`, lookup: "advisory", submit: "once" }),
  };
}
const JOBS = process.env["JOBS_ORIGIN"] ?? "http://127.0.0.1:1";
const services = jobServicesAt(JOBS);

/** Asks the service to act under the step's key. With `deaf` it goes on when it is told to stop. */
async function act(
  ctx: WorkflowContext,
  step: string,
  { idempotencyKey, signal }: StepContext,
  { delay = 0, deaf = false } = {},
): Promise<string> {
  const path = `${ctx.runId}/${step}?pid=${process.pid}`;
  const tell = () =>
    void fetch(service(`aborted/${path}`), { method: "POST" }).then(
      (answer) => answer.text(),
      () => undefined,
    );
  signal.addEventListener("abort", tell, { once: true });
  try {
    const answer = await fetch(service(`act/${path}&key=${idempotencyKey}&delay=${delay}`), {
      method: "POST",
      ...(deaf ? {} : { signal }),
    });
    return (await answer.json()) as string;
  } finally {
    signal.removeEventListener("abort", tell);
  }
}

/** The truth about a call: the service has seen it, or (its claim is over) never will. */
async function probe({ idempotencyKey }: { idempotencyKey: string }) {
  const answer = await fetch(service(`probe/-/-?key=${idempotencyKey}`));
  const { times } = (await answer.json()) as { times: number };
  return times > 0
    ? ({ outcome: "happened", result: "pay was done" } as const)
    : ({ outcome: "cannot_happen" } as const);
}

async function three(ctx: WorkflowContext): Promise<string> {
  await ctx.step("one", (step) => act(ctx, "one", step));
  const paid = await ctx.step("pay", (step) => act(ctx, "pay", step, { deaf: true }), {
    effect: "once",
    probe,
  });
  await ctx.step("three", (step) => act(ctx, "three", step));
  return paid;
}

const Many = z.object({ steps: z.int(), delay: z.int(), timeout: z.string() });

const run = (
  name: string,
  onWorkerLoss: "resume" | "fail",
  body: (ctx: WorkflowContext) => Promise<unknown>,
) => workflow({ name, version: 1, onWorkerLoss, input: z.unknown(), module: import.meta.url, run: body });

const kid = run("kid", "resume", (ctx) => ctx.step("kid", (step) => act(ctx, "kid", step)));

export const WORKFLOWS = [
  kid,
  payout,
  run("parent", "resume", async (ctx) => {
    await ctx.step("before", (step) => act(ctx, "before", step));
    const { outcome, runId } = await ctx.child(kid, null);
    await ctx.step("after", (step) => act(ctx, "after", step));
    return { outcome, runId };
  }),
  run("three", "resume", three),
  run("three-or-fail", "fail", three),
  workflow({
    name: "held",
    version: 1,
    onWorkerLoss: "resume",
    module: import.meta.url,
    input: z.object({ timeout: z.string() }).nullable(),
    async run(ctx, input) {
      const timeout = (input?.timeout ?? "5s") as "5s";
      await ctx.step("held", (step) => act(ctx, "held", step, { deaf: true }), { timeout });
      return ctx.step("after", (step) => act(ctx, "after", step));
    },
  }),
  // The call is made, and then its answer is lost.
  run("shaky", "resume", (ctx) =>
    ctx.step(
      "pay",
      async (step) => {
        await act(ctx, "pay", step);
        throw new Error("the answer was lost");
      },
      { effect: "once", probe, tries: 3 },
    ),
  ),
  // One does not hear that it should stop; the other fails at once.
  run("deaf", "resume", async (ctx) => {
    const results = await Promise.all([
      ctx.step("deaf", (step) => act(ctx, "deaf", step, { deaf: true }), { timeout: "100ms", tries: 3 }),
      ctx.step("fails", async (step) => {
        await act(ctx, "fails", step);
        throw new Error("no");
      }),
    ]);
    await ctx.step("never", (step) => act(ctx, "never", step));
    return results;
  }),
  // Its rows and its entry are there together, or not at all.
  run("book", "resume", async (ctx) => {
    const booked = await ctx.transaction("book", async (tx) => {
      for (const what of ["seat", "meal"])
        await tx.query("insert into public.bookings (run_id, what) values ($1, $2)", [ctx.runId, what]);
      return "booked";
    });
    await ctx.step("after", (step) => act(ctx, "after", step));
    return booked;
  }),
  run("keyed", "resume", (ctx) => ctx.delegate("sign", services.keyed, { what: ctx.runId })),
  run("once", "resume", (ctx) => ctx.delegate("sign", services.once, { what: ctx.runId })),
  workflow({
    name: "wide",
    version: 1,
    onWorkerLoss: "resume",
    module: import.meta.url,
    input: z.object({ items: z.int() }),
    run: (ctx, { items }) =>
      ctx.map(
        "numbers",
        Array.from({ length: items }, (_, index) => index),
        async (item, index) =>
          `${await ctx.step("one", (step) => act(ctx, `one ${item}`, step))} by ${index}`,
        { concurrency: 20 },
      ),
  }),
  // Two that cannot act at the same time.
  run("shares", "resume", async (ctx) => {
    for (;;) {
      const got = await ctx.reserve("gpu", { wait: "0s" }, async () => {
        await ctx.step("on", (step) => act(ctx, "on", step));
        return ctx.step("off", (step) => act(ctx, "off", step));
      });
      if (got.outcome === "RESERVED") return got.value;
      await ctx.sleep("5s");
    }
  }),
  workflow({
    name: "many",
    version: 1,
    onWorkerLoss: "resume",
    module: import.meta.url,
    input: Many,
    async run(ctx, { steps, delay, timeout }) {
      for (let at = 1; at <= steps; at += 1) {
        await ctx.step(`s${at}`, (step) => act(ctx, `s${at}`, step, { delay }), {
          timeout: timeout as "1s",
        });
      }
      return steps;
    },
  }),
] as const;

/** What a test may set of a worker's configuration. */
export interface CrashSettings {
  /** For workers that have to come to the end of it. */
  readonly lease?: string;
  readonly functionTimeout?: string;
  /** What serves the queues. */
  readonly worker?: "function" | "process";
  readonly batchSize?: number;
  readonly poolSize?: number;
  /** Of job-server.ts. */
  readonly jobsOrigin?: string;
  /** Where the agent of crash-agent.ts pays; such a worker carries it besides. */
  readonly payments?: string;
  /** Where Step Functions is; such a worker carries the workflow of crash-states.ts besides. */
  readonly states?: string;
  /** Folder of the bank of the payouts, which lies where that is said. */
  readonly bank?: string;
  readonly bankLies?: boolean;
  /** How long the reconciler keeps what is for people; for ever where it is not said. */
  readonly retention?: { readonly bodies: Duration; readonly steps: Duration; readonly repairs: Duration };
  /** Whether the reconciler knows the dead-letter queue of `runs`. */
  readonly deadLetters?: boolean;
}

/** Far more than a slow machine takes: where a lease or a time must be over, the ledger's clock is moved. */
export const TIMING = { lease: "20s", beat: "500ms", actsMargin: "20s", maxLosses: 3 } as const;
export const FUNCTION_TIMEOUT = "60s";

/** What their workers may reserve units of. */
export const CAPACITIES = { gpu: 1 } as const;

export function crashConfig(
  settings: CrashSettings,
  more: readonly AnyWorkflow[] = [],
  others: Readonly<Record<string, AnyService>> = {},
): Config {
  const { lease = TIMING.lease, functionTimeout = FUNCTION_TIMEOUT, batchSize = 5, poolSize = 2 } = settings;
  const queue = { functionTimeout, batchSize, worker: settings.worker ?? "function" };
  return defineConfig({
    workflows: [...WORKFLOWS, ...more],
    queues: { runs: queue, rites: queue },
    database: { poolSize },
    services: { ...services, ...others },
    capacities: CAPACITIES,
    decisionSources: { tickets: { lookUp: () => Promise.resolve({ outcome: "grant", by: "TICKET-1" }) } },
    egress: { origins: [JOBS] },
    timing: { ...TIMING, lease: lease as typeof TIMING.lease },
    ...(settings.retention === undefined ? {} : { retention: settings.retention }),
  });
}

/** The digests of these workflows, as test/support/world.ts gives them. */
export const MANIFEST = Object.fromEntries(
  [...WORKFLOWS.map(({ name }) => name), "agent", "digs"].map((name) => [`${name}@1`, `${name}@1`]),
);
