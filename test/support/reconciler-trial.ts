import { randomUUID } from "node:crypto";
import { workflow } from "ghouls";
import * as z from "zod";
import type { jobServicesAt } from "./crash-workflows.ts";
import type { JobServer } from "./job-server.ts";
import type { World } from "./world.ts";

/** One run for each pass of the reconciler, each due: what a reconciler does to them, and whether it did so once. */

const base = { version: 1, input: z.unknown(), module: import.meta.url } as const;

export function trialWorkflows({ keyed }: Pick<ReturnType<typeof jobServicesAt>, "keyed">) {
  const kid = workflow({
    ...base,
    name: "trial-kid",
    onWorkerLoss: "resume",
    run: () => Promise.resolve("kid"),
  });
  return [
    kid,
    workflow({ ...base, name: "trial-resumes", onWorkerLoss: "resume", run: () => Promise.resolve("x") }),
    workflow({ ...base, name: "trial-fails", onWorkerLoss: "fail", run: () => Promise.resolve("x") }),
    workflow({
      ...base,
      name: "trial-ends",
      onWorkerLoss: "resume",
      deadline: "2m",
      run: () => Promise.resolve("x"),
    }),
    workflow({ ...base, name: "trial-sleeps", onWorkerLoss: "resume", run: (ctx) => ctx.sleep("1m") }),
    workflow({
      ...base,
      name: "trial-asks",
      onWorkerLoss: "resume",
      run: (ctx) => ctx.consent("ship it", { deciders: ["role:legal"], source: "tickets" }),
    }),
    workflow({
      ...base,
      name: "trial-delegates",
      onWorkerLoss: "resume",
      run: (ctx) => ctx.delegate("sign", keyed, { what: ctx.runId }),
    }),
    workflow({ ...base, name: "trial-starts", onWorkerLoss: "resume", run: (ctx) => ctx.child(kid, null) }),
  ];
}

/** The runs of a trial by what is due of each. */
export type Trial = Readonly<Record<string, string>>;

export async function makeTrial(world: World, server: JobServer): Promise<Trial> {
  const { db, ledger } = world;
  const submit = async (name: string, extra: object = {}) =>
    (await world.submit(`trial-${name}`, null, { key: randomUUID(), ...extra })).runId;
  const [timers, consents, delegates, parent] = [
    await submit("sleeps"),
    await submit("asks"),
    await submit("delegates"),
    await submit("starts"),
  ];
  // The child's worker dies before it has told its parent.
  const untold = { tellParent: () => Promise.reject(new Error("by a test")) };
  await world.drain({ deps: { ledger: { ...ledger, children: { ...ledger.children, ...untold } } } });
  server.finish();
  const [lost, failing, deadlines, holds, relay] = [
    await submit("resumes"),
    await submit("fails"),
    await submit("ends"),
    await submit("resumes", { held: true, holdFor: "1m" }),
    await submit("resumes"),
  ];
  // Their messages are lost, as everything's is that waits for a worker.
  for (let some = true; some;) {
    const messages = await world.queue.receive("runs", { max: 10, waitSeconds: 0 });
    for (const { receiptHandle } of messages) await world.queue.delete("runs", receiptHandle);
    some = messages.length > 0;
  }
  await ledger.deliveries.claimIfDue(
    [lost, failing].map((runId) => ({ runId, enqueueSeq: 1, token: randomUUID() })),
    { worker: "w", leaseSeconds: 20, actsForSeconds: 40 },
  );
  const ended = await submit("resumes");
  // It is ending, and whoever acknowledged its last item died before its end.
  await db.admin(
    `with fenced as (update ghouls.deliveries set status = 'FENCED', fenced_at = ghouls.clock() where run_id = $1)
     update ghouls.runs set status = 'CANCELLING', cancelled_by = 'x', cancel_reason = 'y' where run_id = $1`,
    [ended],
  );
  await world.advance(150);
  return { timers, consents, delegates, parent, lost, failing, deadlines, holds, relay, ended };
}

/** What is left of a trial, in words that do not differ from one to another. */
export async function stateOf(world: World, trial: Trial): Promise<Record<string, unknown>> {
  const { db } = world;
  const nameOf = namesOf(trial);
  const states: Record<string, unknown> = {};
  for (const [name, runId] of Object.entries(trial)) {
    const [run] = await db.admin<{ status: string }>(
      `select status, losses, enqueue_seq, open_items, error_code, journal_length, attention_reason from ghouls.runs
       where run_id = $1`,
      [runId],
    );
    const deliveries = await db.admin(
      "select seq, status, outcome, cause from ghouls.deliveries where run_id = $1 order by seq",
      [runId],
    );
    const others = await db.admin(
      `select 'consent' as kind, status from ghouls.consents where run_id = $1
       union all select 'attempt', status from ghouls.attempts where run_id = $1
       union all select 'item', coalesce(acknowledged_by, 'open') from ghouls.containment_items where run_id = $1
       union all select 'untold', run_id::text from ghouls.child_ends where parent_run_id = $1`,
      [runId],
    );
    states[name] = { ...run, deliveries, others };
  }
  return JSON.parse(nameOf(JSON.stringify(states))) as Record<string, unknown>;
}

/** Rows of repairs of a trial: each pass's but the relay's, and the relay's. */
export async function repairsOf(
  world: World,
  trial: Trial,
): Promise<{ readonly repairs: readonly string[]; readonly publications: readonly string[] }> {
  const found = await world.db.admin<{
    pass: string;
    run_id: string;
    before_state: string;
    after_state: string;
  }>("select pass, run_id, before_state, after_state from ghouls.repairs where run_id = any($1::uuid[])", [
    Object.values(trial),
  ]);
  const nameOf = namesOf(trial);
  const shown = (own: boolean) =>
    found
      .filter(({ pass }) => (pass === "relay") === own)
      .map(({ pass, run_id, before_state, after_state }) =>
        nameOf(own ? `${run_id} ${before_state}` : `${pass} ${run_id} ${after_state}`),
      )
      .toSorted();
  return { repairs: shown(false), publications: shown(true) };
}

function namesOf(trial: Trial): (text: string) => string {
  return (text) =>
    Object.entries(trial)
      .reduce((all, [name, runId]) => all.replaceAll(runId, name), text)
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<id>");
}
