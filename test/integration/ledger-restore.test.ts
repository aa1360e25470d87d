import { expect, test } from "vitest";
import * as z from "zod";
import { workflow, type WorkflowContext } from "ghouls";
import { command } from "../support/command.ts";
import { restoredFrom } from "../support/restored.ts";
import { SOMEBODY, testWorld, type World } from "../support/world.ts";

/** A ledger that is restored from a backup, while what it was a backup of went on. */

let sent: string[] = [];
let held: Promise<void> | undefined;
const base = { version: 1, onWorkerLoss: "resume", input: z.unknown() } as const;
const sends = (ctx: WorkflowContext) => ctx.step("send", () => sent.push(ctx.runId));
const workflows = [
  workflow({ ...base, name: "sends", run: sends }),
  workflow({
    ...base,
    name: "works",
    run: async (ctx) => {
      await ctx.step("work", () => held);
      return sends(ctx);
    },
  }),
  workflow({
    ...base,
    name: "sleeps",
    run: async (ctx) => {
      await ctx.sleep("1h");
      return sends(ctx);
    },
  }),
  workflow({
    ...base,
    name: "asks",
    run: async (ctx) => {
      const { outcome } = await ctx.consent("ship it", { deciders: ["user:bob"], expires: "3d" });
      return outcome === "GRANTED" ? sends(ctx) : outcome;
    },
  }),
];

const { ghouls: run } = command();
const ghouls = (databaseUrl: string, ...argv: string[]) => run([...argv, "--database-url", databaseUrl]);

const grant = async (world: World, runId: string) => {
  const [consent] = (await world.consents.list("acme", { runId }, { limit: 1 })).consents;
  await world.consents.decide({ ...SOMEBODY, subject: "user:bob" }, consent?.consentId ?? "", {
    verdict: "grant",
    digest: consent?.digest ?? "",
  });
};

const statuses = async (world: World, runs: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    await Promise.all(
      Object.entries(runs).map(async ([name, runId]) => [name, (await world.view(runId)).status] as const),
    ),
  );

test("a restored ledger that is paused before a worker touches it moves nothing on by itself, and then goes on", async () => {
  const before = await testWorld({ workflows });
  const submit = async (name: string) => (await before.submit(name)).runId;
  const [sleeps, asks] = [await submit("sleeps"), await submit("asks")];
  await before.drain();
  const gate = Promise.withResolvers<void>();
  held = gate.promise;
  const works = await submit("works");
  const working = before.drain();
  await expect.poll(async () => (await before.view(works)).status).toBe("RUNNING");
  const waits = await submit("sends");
  const runs = { waits, works, sleeps, asks };
  const atBackup = { waits: "QUEUED", works: "RUNNING", sleeps: "AWAITING_TIMER", asks: "AWAITING_CONSENT" };
  expect(await statuses(before, runs)).toEqual(atBackup);

  // The backup; the original goes on, and all of its runs end.
  const copy = await restoredFrom(before.db);
  gate.resolve();
  await working;
  await grant(before, asks);
  await before.later(3_700);
  expect(new Set(Object.values(await statuses(before, runs)))).toEqual(new Set(["DONE"]));
  expect(sent.toSorted()).toEqual(Object.values(runs).toSorted());
  sent = [];

  // The restore: everything is paused, straight in the database, before anything is started.
  const paused = await ghouls(copy.applicationUrl, "pause", "--all", "--reason", "restored", "--by", "ada");
  expect(paused).toEqual({ code: 0, out: "paused: every run\n", err: "" });
  expect((await ghouls(copy.applicationUrl, "doctor")).code).toBe(0);
  held = undefined;
  const after = await testWorld({ workflows, db: copy });
  expect(await statuses(after, runs)).toEqual(atBackup);
  await after.deliver(Object.values(runs).map((runId) => `run:${runId}:1`));
  // Timers and leases go on: what they bring back waits, as does what is decided meanwhile.
  await after.later(4_000);
  await grant(after, asks);
  await after.later(4_000);
  expect(await statuses(after, runs)).toEqual({
    waits: "QUEUED",
    works: "QUEUED",
    sleeps: "QUEUED",
    asks: "QUEUED",
  });
  expect(
    await copy.admin("select from ghouls.deliveries where claimed_at > (select at from ghouls.pauses)"),
  ).toEqual([]);
  expect(sent).toEqual([]);
  expect(await after.broken()).toEqual([]);
  expect((await ghouls(copy.applicationUrl, "pauses")).out).toMatch(
    /^all +every +every +\S+ +ada +restored$/m,
  );

  // One had been done in the world: it is cancelled. The others may go on.
  await after.control.cancel(SOMEBODY, waits, "sent before the restore");
  const unpaused = await ghouls(copy.applicationUrl, "unpause", "--all", "--reason", "looked at");
  expect(unpaused).toMatchObject({ code: 0, out: "unpaused: every run\n" });
  await after.reconcile();
  await after.drain();
  expect(await statuses(after, runs)).toEqual({
    waits: "CANCELLED",
    works: "DONE",
    sleeps: "DONE",
    asks: "DONE",
  });
  expect(sent.toSorted()).toEqual([works, sleeps, asks].toSorted());
  expect(await after.broken()).toEqual([]);
});
