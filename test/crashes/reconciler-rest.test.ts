import { beforeAll, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import * as z from "zod";
import { crashWorld } from "../support/crash-world.ts";
import { killsOn, victims } from "../support/victims.ts";

/** F72 of the passes that need a configuration of their own: retention, and the dead letters. */

const quick = workflow({
  name: "quick",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  module: import.meta.url,
  run: async (ctx, input) => {
    await ctx.step("one", () => ({ input }));
    return "done";
  },
});
const world = await crashWorld({ workflows: [quick] });
const { db, sqs } = world;
const deadUrl = `${sqs.urls["runs"]}-dlq`;
const settings = { retention: { bodies: "5m", steps: "5m", repairs: "30d" }, deadLetters: true } as const;
const victim = victims(() => world.start(settings));

async function send(body: string): Promise<void> {
  const answer = await fetch(sqs.endpoint, {
    method: "POST",
    headers: { "content-type": "application/x-amz-json-1.0", "x-amz-target": "AmazonSQS.SendMessage" },
    body: JSON.stringify({ QueueUrl: deadUrl, MessageBody: body }),
  });
  expect(answer.status).toBe(200);
}

interface Trial {
  readonly old: string;
  readonly waits: string;
}

/** A sealed run whose bodies are old, and a delivery that waits while its queue has given up on its message. */
async function afresh(): Promise<Trial> {
  await world.reset();
  await db.admin("truncate ghouls.dead_letters");
  const { runId: old } = await world.submit("quick", "body");
  await world.drain();
  await world.advance(90);
  await world.reconcile();
  await world.advance(400);
  const { runId: waits } = await world.submit("quick", "body");
  for (const { receiptHandle } of await world.queue.receive("runs", { max: 10, waitSeconds: 0 }))
    await world.queue.delete("runs", receiptHandle);
  await db.admin(
    "update ghouls.deliveries set next_publication_at = ghouls.clock() + interval '1 hour' where run_id = $1",
    [waits],
  );
  await send(`run:${waits}:1`);
  return { old, waits };
}

async function stateOf({ old, waits }: Trial) {
  const one = async (text: string, id: string) => (await db.admin(text, [id]))[0];
  return {
    run: await one(
      `select status, input_text, output_text, input_digest is not null as digest, bodies_emptied_at is not null as bodies,
         steps_emptied_at is not null as steps from ghouls.runs where run_id = $1`,
      old,
    ),
    journal: await one(
      "select count(*) filter (where result_text is null)::integer as empty, count(result_digest)::integer as digests from ghouls.journal where run_id = $1",
      old,
    ),
    copies: await one(
      "select count(body_text)::integer as bodies, count(body_digest)::integer as digests from ghouls.evidence where run_id = $1",
      old,
    ),
    sealed: await one("select count(*)::integer as open from ghouls.end_acts where run_id = $1", old),
    delivery: await one("select status, seq from ghouls.deliveries where run_id = $1", waits),
    repairs: await db.admin(
      "select pass, rule, before_state, after_state from ghouls.repairs where run_id = $1 and pass = 'dead-letters'",
      [waits],
    ),
    integrity: (await world.ledger.doctor()).filter(({ ok, kind }) => !ok && kind === "integrity"),
  };
}

/** Whoever comes next, until nothing is left. What was received by a reconciler that died is hidden for a while: a copy stands in. */
async function settled(trial: Trial) {
  await send(`run:${trial.waits}:1`);
  for (const _ of [1, 2]) {
    const next = await victim();
    expect((await next.reconcile()).kind).toBe("answered");
    next.signal("SIGKILL");
  }
  return stateOf(trial);
}

await afresh();
const tracer = await victim();
await tracer.reconcile();
const { passings } = await tracer.inspect();
tracer.signal("SIGKILL");
const OF_THESE = /^(retention|dead-letters)\.|(retention|deadletters|repairs)\.|^queue\..*(receive|delete)/;
const cases = killsOn(passings).filter(
  ([label, { point, nth }]) =>
    nth === 1 &&
    point !== "ledger.before-statement" &&
    (OF_THESE.test(point) || OF_THESE.test(label.split(" ")[1] ?? "")),
);

let quiet: Awaited<ReturnType<typeof stateOf>>;
beforeAll(async () => {
  quiet = await settled(await afresh());
});

test("a quiet reconciler empties what is old, and has the letter's delivery published once", () => {
  expect(quiet).toMatchObject({
    run: { status: "DONE", input_text: null, output_text: null, digest: true, bodies: true, steps: true },
    journal: { empty: 1, digests: 1 },
    copies: { bodies: 0, digests: 1 },
    sealed: { open: 0 },
    delivery: { status: "PENDING", seq: 1 },
    repairs: [{ pass: "dead-letters" }],
    integrity: [],
  });
  const points = new Set(cases.map(([, { point }]) => point));
  for (const point of [
    "retention.after-select",
    "dead-letters.after-select",
    "dead-letters.after-repair",
  ] as const)
    expect([...points]).toContain(point);
});

describe("kill -9 of the reconciler", () => {
  test.each(cases)("at %s: the next ones finish, and nothing is done twice", async (_, fault) => {
    const trial = await afresh();
    const reconciler = await victim([fault]);
    expect(await reconciler.reconcile()).toEqual({ kind: "ended", how: "SIGKILL" });
    expect(await settled(trial)).toEqual(quiet);
  });
});
