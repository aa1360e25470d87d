import type { JobAnswer, JobSubmission, ServiceTraits } from "@ghouls/core";
import { httpService } from "ghouls";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { Chance } from "./adversarial-jobs.ts";
import { startAdversary, type Adversary } from "./adversarial-service.ts";
import { freePort } from "./free-port.ts";

const SEEDS = 200;
const KEY = "the/key";
const ID = "6f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f1";
const TOKEN = "token-0123456789";

const traits = (
  lookup: ServiceTraits["lookup"],
  submit: ServiceTraits["submit"],
  cancel: ServiceTraits["cancel"],
): ServiceTraits => ({ lookup, submit, cancel, delaySeconds: 1 });
const CLAIMS = {
  "all that there is": traits("authoritative", "idempotent", "final"),
  "an authoritative lookup": traits("authoritative", "idempotent", "advisory"),
  "an authoritative lookup of what happens once": traits("authoritative", "once", "final"),
  little: traits("advisory", "once", "advisory"),
  "one job for a key, and little else": traits("advisory", "idempotent", "advisory"),
  nothing: traits("none", "once", "none"),
};

/** Where callbacks arrive: one attempt, one token. */
let calledBack: { path: string; token: string; state: string; result: unknown; status: number }[] = [];
const api = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const token = String(request.headers["ghouls-callback-token"]);
    const status = token !== TOKEN ? 401 : request.url?.includes(ID) === true ? 204 : 404;
    const { state, result } = JSON.parse(Buffer.concat(chunks).toString()) as {
      state: string;
      result: unknown;
    };
    calledBack.push({ path: request.url ?? "", token, state, result, status });
    response.writeHead(status).end();
  });
});
let apiOrigin: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve));
  apiOrigin = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
});
afterAll(() => {
  api.closeAllConnections();
  api.close();
});

const job = (): JobSubmission => ({
  tenantId: "acme",
  runId: "r",
  attemptId: ID,
  idempotencyKey: KEY,
  requestText: "{}",
  callback: { url: `${apiOrigin}/v1/attempts/${ID}/callback`, token: TOKEN },
});

/** Asks, lets what is late come by a step, and gives up on what does not come then. */
function client(adversary: Adversary, claimed: ServiceTraits) {
  const { lookup, submit, cancel } = claimed;
  const service = httpService({
    url: adversary.url,
    request: z.unknown(),
    result: z.unknown(),
    lookup,
    submit,
    cancel,
  });
  return async (question: "submit" | "lookUp" | "cancel"): Promise<JobAnswer> => {
    const patience = new AbortController();
    const asked = service[question](job(), { signal: patience.signal, origins: [adversary.origin] });
    let settled = false;
    const ended = asked.finally(() => (settled = true));
    const rest = () => new Promise(setImmediate);
    while (!settled) {
      await rest();
      if (adversary.waiting() === 0) continue;
      await adversary.step();
      if (adversary.waiting() === 0) continue;
      patience.abort();
      // The service has to see it, or takes it for the next one.
      while (adversary.waiting() > 0) await rest();
    }
    return ended;
  };
}

interface Trial {
  readonly adversary: Adversary;
  readonly misdeeds: readonly string[];
  readonly faults: string[];
}

const isFinal = ({ state }: JobAnswer) =>
  state === "succeeded" || state === "failed" || state === "cancelled";

/** A random life of one key, in which each answer is held against what was claimed. */
async function trial(seed: number, claimed: ServiceTraits): Promise<Trial> {
  const adversary = await startAdversary({ seed, traits: claimed, callbacks: true });
  const ask = client(adversary, claimed);
  const chance = new Chance(seed);
  const faults: string[] = [];
  const oneJob = claimed.submit === "idempotent";
  const wanted = oneJob ? 1 + Math.floor(chance.next() * 3) : 1;
  let final: JobAnswer | undefined;
  /** Effects that there may be, where they are known for good. */
  let frozen: number | undefined;
  const check = () => {
    const effects = adversary.effects(KEY);
    if (effects > (oneJob ? 1 : adversary.submissions(KEY))) faults.push("a second effect");
    if (frozen !== undefined && effects !== frozen) faults.push("an effect after it was ruled out");
  };
  const hear = (answer: JobAnswer, late: boolean) => {
    if (
      answer.state === "succeeded" &&
      !JSON.stringify(adversary.results(KEY)).includes(JSON.stringify(answer.result))
    )
      faults.push("a result that is none");
    const rulesOut = answer.state === "cancelled" && (late || claimed.cancel === "final");
    if (rulesOut) frozen ??= adversary.effects(KEY);
    if (answer.state === "absent" && late && claimed.lookup === "authoritative") {
      if (adversary.effects(KEY) > 0) faults.push("absent, and it has acted");
      frozen ??= 0;
    }
    if (!isFinal(answer) || (answer.state === "cancelled" && !rulesOut)) return;
    if (final !== undefined && JSON.stringify(final) !== JSON.stringify(answer)) faults.push("two ends");
    final = answer;
  };
  const put = async (question: "submit" | "lookUp" | "cancel", late: boolean) => {
    // What is submitted again is a new beginning, unless a cancel was final.
    if (question === "submit" && !(claimed.cancel === "final" && final?.state === "cancelled")) {
      frozen = undefined;
      if (final?.state === "cancelled") final = undefined;
    }
    hear(await ask(question), late);
    check();
  };

  for (let submission = 0; submission < wanted; submission += 1) {
    await put("submit", false);
    if (chance.happens(0.3)) await put(chance.pick(["lookUp", "cancel"]), false);
    await adversary.step();
    check();
    for (let questions = 0; questions < 3; questions += 1) {
      if (chance.happens(0.7)) await put(chance.pick(["lookUp", "lookUp", "cancel"]), true);
      if (chance.happens(0.5)) await adversary.step();
      check();
    }
  }
  for (let steps = 0; !adversary.quiet(); steps += 1) {
    if (steps > 50) throw new Error(`seed ${seed} does not come to rest`);
    await adversary.step();
    check();
  }
  await put("cancel", true);
  await put("lookUp", true);
  await adversary.stop();
  return { adversary, misdeeds: adversary.misdeeds(), faults };
}

async function trials(
  claimed: ServiceTraits,
): Promise<{ misdeeds: Set<string>; faults: string[]; all: Trial[] }> {
  calledBack = [];
  const all: Trial[] = [];
  for (let seed = 0; seed < SEEDS; seed += 1) all.push(await trial(seed, claimed));
  return {
    all,
    misdeeds: new Set(all.flatMap((one) => one.misdeeds)),
    faults: all.flatMap(({ faults }, seed) => faults.map((fault) => `seed ${seed}: ${fault}`)),
  };
}

const ANSWERS = [
  "late",
  "never",
  "twice",
  "409",
  "500",
  "garbage",
  "truncated",
  "huge",
  "wrong type",
  "reset",
];
const OTHERS = ["redirect", "echo", "accepts and answers 500", "takes it later than it answers"];
const CALLBACKS = ["early", "twice", "forged", "foreign", "after the end"].map((kind) => `callback ${kind}`);
const FORGETTING = ["answers 202 and forgets", "forgets and acts", "denies what it has"];

describe(`an adversarial service, over ${SEEDS} seeds`, () => {
  it.each(Object.entries(CLAIMS))(
    "that claims %s keeps that, and misbehaves in every other way",
    async (_what, claimed) => {
      const { misdeeds, faults, all } = await trials(claimed);
      expect(faults).toEqual([]);
      const asks = claimed.lookup !== "none";
      const may = [
        ...ANSWERS,
        ...OTHERS,
        ...CALLBACKS,
        ...(claimed.lookup === "authoritative" ? [] : FORGETTING.slice(0, asks ? 3 : 2)),
        ...(asks ? ["does not cancel at once"] : []),
        ...(claimed.cancel === "advisory" ? ["says cancelled and acts"] : []),
      ];
      expect([...misdeeds].toSorted()).toEqual(may.toSorted());
      // Each end that there is: a job that acts, one that never does, and none at all.
      const effects = new Set(all.map(({ adversary }) => adversary.effects(KEY)));
      expect(effects).toContain(0);
      expect(effects).toContain(1);
      expect(all.some(({ adversary }) => adversary.results(KEY).length > 0)).toBe(true);
    },
  );

  it("is believed by callback only what is true, under the token and at the attempt that are its own", async () => {
    const { all } = await trials(CLAIMS["all that there is"]);
    const sent = all.flatMap(({ adversary }) => adversary.callbacks());
    expect(sent.length).toBe(calledBack.length);
    const statuses = (kind: string) =>
      new Set(sent.filter((one) => one.kind === kind).map(({ status }) => status));
    expect(statuses("forged")).toEqual(new Set([401]));
    expect(statuses("foreign")).toEqual(new Set([404]));
    for (const kind of ["report", "early", "twice", "after the end"])
      expect(statuses(kind)).toEqual(new Set([204]));
    const believed = calledBack.filter(({ status, state }) => status === 204 && state === "succeeded");
    const results = JSON.stringify(all.map(({ adversary }) => adversary.results(KEY)));
    expect(believed.length).toBeGreaterThan(0);
    for (const { result } of believed) expect(results).toContain(JSON.stringify(result));
  });

  it("goes on where nobody can be called back", async () => {
    const url = `http://127.0.0.1:${await freePort()}/v1/attempts/${ID}/callback`;
    const headers = { "idempotency-key": KEY, "ghouls-callback-url": url, "ghouls-callback-token": TOKEN };
    const statuses: number[] = [];
    for (let seed = 0; seed < 10; seed += 1) {
      const adversary = await startAdversary({ seed, traits: CLAIMS.nothing, callbacks: true });
      const posted = fetch(adversary.url, { method: "POST", headers }).catch(() => undefined);
      await expect.poll(() => adversary.submissions(KEY), { interval: 5 }).toBe(1);
      while (!adversary.quiet()) await adversary.step();
      statuses.push(...adversary.callbacks().map(({ status }) => status));
      expect(adversary.misdeeds().filter((misdeed) => misdeed.startsWith("its own fault"))).toEqual([]);
      await adversary.stop();
      await posted;
    }
    expect(new Set(statuses)).toEqual(new Set([0]));
  });

  it("does the same again for the same seed, and something else for another", async () => {
    const [one, again] = [await trial(7, CLAIMS.little), await trial(7, CLAIMS.little)];
    expect(again.misdeeds).toEqual(one.misdeeds);
    expect((await trial(8, CLAIMS.little)).misdeeds).not.toEqual(one.misdeeds);
  });
});

describe("a service that nobody has submitted to", () => {
  it("is quiet, and counts nothing of a key that it was only asked about", async () => {
    const adversary = await startAdversary({ seed: 1, traits: CLAIMS.little, callbacks: false });
    expect([adversary.quiet(), adversary.keys(), adversary.effects("x"), adversary.results("x")]).toEqual([
      true,
      [],
      0,
      [],
    ]);
    expect(adversary.submissions("x")).toBe(0);
    expect(adversary.keys()).toEqual([]);
    await adversary.stop();
  });
});
