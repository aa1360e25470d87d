import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { afterAll, describe, expect, test } from "vitest";
import { httpService, workflow, type DelegateOptions } from "ghouls";
import * as z from "zod";
import { createAdmissionApp } from "@ghouls/api";
import { canonicalText, isTerminalRun, type ServiceTraits, type wire } from "@ghouls/core";
import { Registry, createAdmission, createDirectEgress, reconcile, type ExecutionDeps } from "@ghouls/engine";
import { startAdversary, type Adversary } from "../support/adversarial-service.ts";
import { SOMEBODY, requestOf, testWorld } from "../support/world.ts";

/** Trials of each kind of service, and how many go on at the same time. */
const TRIALS = 170;
const TOGETHER = 34;
/** Longer than anything takes to be looked at again. */
const ROUND_SECONDS = 600;
/** Rounds until a run that still waits is cancelled, and until it must have ended or asked for a person. */
const PATIENCE = 12;
const ROUNDS = 40;

const delaySeconds = 5;
const KINDS: readonly (readonly [string, ServiceTraits])[] = [
  [
    "finds what it took, takes a key once, and keeps a cancel",
    { lookup: "authoritative", submit: "idempotent", cancel: "final", delaySeconds },
  ],
  [
    "finds what it took, and takes a key once",
    { lookup: "authoritative", submit: "idempotent", cancel: "advisory", delaySeconds },
  ],
  [
    "finds what it took, and takes a key twice",
    { lookup: "authoritative", submit: "once", cancel: "final", delaySeconds },
  ],
  [
    "does not find all that it took, and takes a key once",
    { lookup: "advisory", submit: "idempotent", cancel: "advisory", delaySeconds },
  ],
  [
    "does not find all that it took, and takes a key twice",
    { lookup: "advisory", submit: "once", cancel: "advisory", delaySeconds },
  ],
  [
    "can be asked nothing, and takes a key twice",
    { lookup: "none", submit: "once", cancel: "none", delaySeconds },
  ],
];

const world = await testWorld({ workflows: [], maxConnections: 12 });
const { db, ledger } = world;
const edge = {
  ...world,
  reconciler: { run: () => Promise.resolve({ dryRun: false, passes: [] }) },
  authenticate: () => Promise.resolve(undefined),
  requestId: () => "r",
  log: world.deps.log,
};
const server = createAdaptorServer({ fetch: createAdmissionApp(edge) });
server.listen(0, "127.0.0.1");
await once(server, "listening");
const publicUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
afterAll(() => new Promise((resolve) => server.close(resolve)));

interface Trial {
  readonly seed: number;
  readonly adversary: Adversary;
  readonly runId: string;
}

/** Runs of a batch, each with a service of its own that misbehaves by its seed. */
async function started(traits: ServiceTraits, seeds: readonly number[]) {
  const adversaries = await Promise.all(
    seeds.map((seed) => startAdversary({ seed, traits, callbacks: seed % 2 === 0 })),
  );
  const services = Object.fromEntries(
    adversaries.map(({ url }, index) => [
      `service-${index}`,
      httpService({
        url,
        request: z.object({ what: z.string() }),
        result: z.unknown(),
        ...traitOptions(traits),
        // Who does not answer at all takes this long, in real time.
        timeout: "250ms",
        poll: "30s",
      }),
    ]),
  );
  const workflows = Object.values(services).map((service, index) =>
    workflow({
      name: `delegates-${index}`,
      version: 1,
      onWorkerLoss: "resume",
      input: z.unknown(),
      run: (ctx) => {
        const options: DelegateOptions = (seeds[index] ?? 0) % 3 === 0 ? { deadline: "1h" } : {};
        return ctx.delegate("job", service, { what: ctx.runId }, options);
      },
    }),
  );
  const registry = new Registry(
    workflows.map((definition) => ({ definition, digest: `${definition.name}@1` })),
  );
  const origins = adversaries.map(({ origin }) => origin);
  const egress = createDirectEgress({ services, origins });
  const deps: ExecutionDeps = {
    ...world.deps,
    registry,
    delegation: { ...world.deps.delegation, services, egress, publicUrl },
  };
  const admission = createAdmission({
    ...deps,
    queue: world.queue,
    announce: () => Promise.resolve(),
    route: undefined,
    queues: ["runs"],
  });
  const trials: Trial[] = [];
  for (const [index, adversary] of adversaries.entries()) {
    const request = requestOf({ workflow: `delegates-${index}`, input: null });
    const { runId } = await admission.admit(SOMEBODY, request);
    trials.push({ seed: seeds[index] ?? 0, adversary, runId });
  }
  return { trials, deps };
}

function traitOptions({ lookup, submit, cancel, delaySeconds }: ServiceTraits) {
  return { lookup, submit, cancel, delay: `${delaySeconds}s` as const };
}

const hasEnded = ({ status, attention }: wire.RunView) => isTerminalRun(status) || attention !== null;

async function carryOut(traits: ServiceTraits, seeds: readonly number[]): Promise<string[]> {
  const { trials, deps } = await started(traits, seeds);
  /** What each service had done when its run was first seen at its end: read after the status. */
  const atTheEnd = new Map<string, number>();
  const pass = () =>
    reconcile({ ...deps, queue: world.queue, pageSize: 100, pageBudgetMs: 100, remainingMs: () => 60_000 });
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      await world.drain({ deps });
      await Promise.all(trials.map(({ adversary }) => adversary.step()));
      await world.advance(ROUND_SECONDS);
      await pass();
      await world.drain({ deps });
      const views = await Promise.all(trials.map(({ runId }) => world.view(runId)));
      for (const [index, { runId, adversary }] of trials.entries())
        if (isTerminalRun((views[index] as wire.RunView).status) && !atTheEnd.has(runId))
          atTheEnd.set(runId, effectsOf(adversary));
      const open = trials.filter((_, index) => !hasEnded(views[index] as wire.RunView));
      if (open.length === 0 && trials.every(({ adversary }) => adversary.quiet())) break;
      if (round !== PATIENCE) continue;
      for (const { runId } of open) await world.control.cancel(SOMEBODY, runId, "it takes too long");
    }
    // What is late comes late, and moves nothing.
    for (let round = 0; round < 5; round += 1)
      await Promise.all(trials.map(({ adversary }) => adversary.step()));
    const faults = (await Promise.all(trials.map(faultsOf))).flat();
    for (const { seed, runId, adversary } of trials) {
      const told = atTheEnd.get(runId) ?? effectsOf(adversary);
      if (told !== effectsOf(adversary)) faults.push(`seed ${seed}: an effect came after its run had ended`);
    }
    const broken = (await ledger.doctor()).filter(({ ok, kind }) => !ok && kind === "integrity");
    return [...faults, ...broken.map(({ check, rows }) => `${check}: ${JSON.stringify(rows)}`)];
  } finally {
    await Promise.all(trials.map(({ adversary }) => adversary.stop()));
  }
}

function effectsOf(adversary: Adversary): number {
  return adversary.keys().reduce((sum, key) => sum + adversary.effects(key), 0);
}

/** How trials came to an end: the run, and its attempt. */
const ends = new Set<string>();

/** What of a trial must not be. */
async function faultsOf({ seed, adversary, runId }: Trial): Promise<string[]> {
  const view = await world.view(runId);
  const [attempt] = (await world.attempts.list(SOMEBODY.tenantId, { runId }, { limit: 2 })).attempts;
  ends.add(`${view.status} ${attempt?.status}`);
  const faults: string[] = [];
  const fault = (what: string) => faults.push(`seed ${seed}: ${what} (${view.status}, ${attempt?.status})`);
  const keys = adversary.keys();
  if (keys.length > 1) fault(`${keys.length} keys`);
  for (const key of keys) {
    const effects = adversary.effects(key);
    if (effects > 1) fault(`${effects} effects after ${adversary.submissions(key)} submissions`);
    if (key !== attempt?.idempotencyKey) fault("a key that is no attempt's");
  }
  if (!hasEnded(view)) fault("neither ended nor with attention");
  if (attempt?.status !== "SUCCEEDED") return faults;
  const { result } = (await world.attempts.get(SOMEBODY.tenantId, attempt.attemptId)) ?? {
    result: undefined,
  };
  const given = adversary.results(attempt.idempotencyKey).map((one) => canonicalText(one ?? null));
  if (!given.includes(canonicalText(result))) fault(`a result that nobody gave: ${JSON.stringify(result)}`);
  if (
    view.status === "DONE" &&
    JSON.stringify((view.output as { result: unknown }).result) !== JSON.stringify(result)
  )
    fault("another result than the attempt's");
  return faults;
}

describe.each(KINDS)("at a service that %s,", (_what, traits) => {
  test.each(Array.from({ length: TRIALS / TOGETHER }, (_, batch) => batch * TOGETHER))(
    `${TOGETHER} trials from seed %i on: never two effects, never a result that nobody gave, and all end or show attention`,
    async (from) => {
      const seeds = Array.from({ length: TOGETHER }, (_, index) => from + index + 1);
      expect(await carryOut(traits, seeds)).toEqual([]);
      await world.reset();
      await db.admin("truncate ghouls.workflows");
    },
    300_000,
  );
});

test("the trials came to every end that there is", () => {
  expect([...ends]).toEqual(
    expect.arrayContaining([
      "DONE SUCCEEDED",
      "DONE FAILED",
      "DONE CANCELLED",
      "CANCELLED CANCELLED",
      "AWAITING_DELEGATE UNCERTAIN",
      "CANCELLING UNCERTAIN",
    ]),
  );
});
