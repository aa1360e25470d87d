import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { wire } from "@ghouls/core";
import { asMigrator, makeKey } from "../support/keys.ts";
import { until } from "../support/wait.ts";
import { ROOT } from "../infra/project.ts";
import { deployedCloud } from "./cloud.ts";
import { TOKEN, writeSecond } from "./deployed-project.ts";
import { questionTests } from "./questions.ts";
import { standing } from "./standing.ts";
import { stonemason } from "./stonemason.ts";

const folder = mkdtempSync(join(tmpdir(), "ghouls-aws-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Delivery {
  readonly seq: number;
  readonly cause: string;
  readonly status: string;
  readonly outcome: string | null;
}

describe.skipIf(inject("emulator") === null)("deployed", () => {
  const before = standing();
  const mason = stonemason();
  const cloud = deployedCloud(() => ({ STONEMASON_URL: mason.url }));
  /** A run that waits for somebody's consent. */
  const asking = async (name: string) => {
    const { runId } = await cloud.submit("asks", { name });
    await cloud.seen("select 1 from ghouls.consents where run_id = $1", [runId]);
    return runId;
  };
  const consentOf = async (runId: string) => {
    const { body } = await cloud.ask("GET", `/v1/consents?runId=${runId}`);
    return (body as wire.ConsentPage).consents[0];
  };
  const deliveriesOf = (runId: string) =>
    cloud.rows<Delivery>(
      "select seq, cause, status, outcome from ghouls.deliveries where run_id = $1 order by seq",
      [runId],
    );

  test("every function, route, queue and alarm of the graph stands there", () => {
    const count = (type: string) => cloud.stack.made.filter((one) => one.type.endsWith(`:${type}`)).length;
    // Admission, api, stream, egress, three workers, reconciler, migrate and preflight.
    expect({
      functions: count("Function"),
      routes: count("Route"),
      queues: count("Queue"),
      mappings: count("EventSourceMapping"),
      steps: count("Invocation"),
      schedules: count("Schedule"),
      tables: count("Table"),
      alarms: count("MetricAlarm"),
    }).toEqual({
      functions: 10,
      routes: 38,
      queues: 6,
      mappings: 3,
      steps: 2,
      schedules: 1,
      tables: 1,
      alarms: 29,
    });
  });

  test("a run is followed by the URL that streams, to its end", async () => {
    const url = cloud.stack.made.find(({ type }) => type.endsWith(":FunctionUrl"))?.state["functionUrl"];
    const { runId } = await cloud.submit("hello", { name: "Grace" });
    await cloud.ended(runId, "DONE");
    const events = await cloud.follow(url ?? "", runId);
    expect(events.at(0)).toMatchObject({ kind: "admitted" });
    expect(events.filter(({ kind }) => kind === "gap")).toEqual([]);
    expect(events.at(-1)).toMatchObject({ kind: "finished", status: "DONE" });
    // The same by polls of the API, which does not stream.
    const { status, body } = await cloud.ask("GET", `/v1/runs/${runId}/events`);
    expect([status, (body as wire.EventPage).done]).toEqual([200, true]);
  });

  test("the deploy itself has migrated the database, and found nothing against it", async () => {
    const rows = await cloud.rows<{ count: number }>(
      "select count(*)::integer as count from ghouls.migrations",
    );
    expect(rows[0]?.count).toBeGreaterThan(0);
    expect(await cloud.ask("GET", "/readyz")).toMatchObject({ status: 200, body: { ready: true } });
  });

  test("hello, from an HTTP request to its end", async () => {
    const { runId } = await cloud.submit("hello", { name: "Ada" });
    const view = await cloud.ended(runId, "DONE");
    expect(view.output).toBe("Good evening, Ada.");
  });

  test("the same key twice is one run", async () => {
    const key = { idempotencyKey: "order-7" };
    const body = { workflow: "hello", input: { name: "Ada" }, ...key };
    const answers = await Promise.all(
      [1, 2, 3].map(() => cloud.ask("POST", "/v1/runs/batch", { runs: [body] })),
    );
    const ids = answers.map((answer) => {
      const [first] = (answer.body as wire.BatchAdmitted).runs;
      return first?.outcome === "admitted" ? first.run.runId : "";
    });
    expect(new Set(ids).size).toBe(1);
    await cloud.ended(ids[0] ?? "", "DONE");
  });

  test("nobody without a token, and a problem document for what is no route", async () => {
    const answer = await fetch(`${cloud.stack.apiUrl}/v1/runs`);
    expect(answer.status).toBe(401);
    expect(await cloud.ask("GET", "/v1/nothing")).toMatchObject({
      status: 404,
      body: { type: "urn:ghouls:problem:not_found", fix: expect.stringContaining("openapi.json") },
    });
  });

  test("a key of the ledger beside the tokens of the configuration, until it is revoked", async () => {
    const list = (token: string) => cloud.ask("GET", "/v1/runs", undefined, token);
    const ci = { tenantId: "acme", subject: "ci", roles: ["submitter"] };
    const { keyId, text } = await makeKey(cloud, ci);
    const body = { workflow: "hello", input: { name: "Ada" } };
    const { status, body: admitted } = await cloud.ask("POST", "/v1/runs", body, text);
    expect(status).toBe(202);
    const view = await cloud.ended((admitted as wire.Admitted).runId, "DONE");
    expect(view.requestedBy).toBe("ci");
    const item = `/v1/runs/${view.runId}/items/worker-1/resolution`;
    expect(await cloud.ask("POST", item, { reason: "no" }, text)).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining("runs:resolve") },
    });
    await asMigrator(cloud, (keys) => keys.revoke(keyId, { actor: null, reason: "by a test" }));
    expect(await list(text)).toMatchObject({ status: 401 });
    expect(await list(TOKEN)).toMatchObject({ status: 200 });
  });

  questionTests(cloud, mason);

  // The scheduled reconciler comes once a minute: it is waited for once for all of these.
  describe.concurrent("at the same time", () => {
    let lost: string;
    beforeAll(async () => {
      await cloud.feed(false);
      ({ runId: lost } = await cloud.submit("hello", { name: "nobody" }));
      await cloud.lose("runs", lost);
      await cloud.feed(true);
    });

    test("release-gate, over this repository's own lockfile", async () => {
      const output = join(folder, "gate");
      const { runId } = await cloud.submit("release-gate", {
        lockfile: join(ROOT, "package-lock.json"),
        // No signing service is deployed beside it: what passes would wait for one.
        policy: join(ROOT, "packages/workflows/src/release-gate/strict.json"),
        questions: "policy",
        output,
      });
      const view = await cloud.ended(runId, "DONE");
      expect(view.output).toMatchObject({ decision: "REFUSED", mismatches: [], signature: null });
      expect(JSON.parse(readFileSync(join(output, "bom.json"), "utf8"))).toMatchObject({
        bomFormat: "CycloneDX",
      });
    });

    test("a run that is longer than an invocation goes over several, from its journal", async () => {
      const { runId } = await cloud.submit("procession", { steps: 24 });
      const view = await cloud.ended(runId, "DONE");
      expect(view).toMatchObject({ output: "arrived", steps: 25 });
      const deliveries = await deliveriesOf(runId);
      expect(deliveries.filter(({ outcome }) => outcome === "continued").length).toBeGreaterThanOrEqual(2);
      expect(deliveries.filter(({ outcome }) => outcome === "lost")).toEqual([]);
    });

    test("a run that is cancelled in the middle ends CANCELLED once nothing of it can act", async () => {
      const { runId } = await cloud.submit("procession", { steps: 60 });
      await until("its first step", async () => {
        const rows = await cloud.rows("select from ghouls.journal where run_id = $1", [runId]);
        return rows.length > 0;
      });
      expect(await cloud.ask("POST", `/v1/runs/${runId}/cancel`, { reason: "by a test" })).toMatchObject({
        status: 200,
        body: { cancelled: true, status: "CANCELLING" },
      });
      const view = await cloud.ended(runId, "CANCELLED");
      expect(view.containment.every(({ acknowledgedAt }) => acknowledgedAt !== null)).toBe(true);
    });

    test("a run that parks on a consent comes back with a decision through the API", async () => {
      const runId = await asking("Ada");
      const consent = await consentOf(runId);
      const { text } = await makeKey(cloud, {
        tenantId: "acme",
        subject: "user:grace",
        roles: ["decider", "legal"],
      });
      const path = `/v1/consents/${consent?.consentId}/decision`;
      const word = { verdict: "grant", digest: consent?.digest };
      expect(await cloud.ask("POST", path, { ...word, digest: "of another" }, text)).toMatchObject({
        status: 409,
      });
      expect(await cloud.ask("POST", path, word, text)).toMatchObject({
        status: 200,
        body: { resumed: true },
      });
      const view = await cloud.ended(runId, "DONE");
      expect(view.output).toMatchObject({ outcome: "GRANTED", by: "user:grace" });
      const deliveries = await deliveriesOf(runId);
      expect(deliveries.map(({ outcome }) => outcome)).toEqual(["parked", "done"]);
    });

    test("a delegated job leaves from the egress function once, and its callback through the API ends the run", async () => {
      const { runId } = await cloud.submit("delegated", { name: "Grace" });
      const named = () => mason.all().filter(({ body }) => (body as { name: string }).name === "Grace");
      const [order] = await until("the job at the service", () => (named().length > 0 ? named() : undefined));
      expect(order?.headers).toMatchObject({
        "x-sent-by": cloud.nameOf("GhoulsEgressFunction"),
      });
      if (order === undefined) throw new Error("it is there");
      const { "x-callback-url": url } = order.headers;
      expect(url).toMatch(/\/v1\/attempts\/[^/]+\/callback$/);
      expect(String(url).startsWith(`${cloud.stack.apiUrl}/v1/`)).toBe(true);
      const forged = { ...order, headers: { ...order.headers, "x-callback-token": "forged" } };
      const report = { state: "succeeded", result: { stone: "here lies Grace" } };
      expect(await mason.report(forged, report)).toMatchObject({ status: 401 });
      expect((await mason.report(order, report)).status).toBeLessThan(300);
      const view = await cloud.ended(runId, "DONE");
      expect(view.output).toMatchObject({ outcome: "SUCCEEDED", result: { stone: "here lies Grace" } });
      expect(named()).toHaveLength(1);
      const deliveries = await deliveriesOf(runId);
      expect(deliveries.map(({ cause, outcome }) => [cause, outcome])).toEqual([
        ["admitted", "parked"],
        ["resumed", "done"],
      ]);
    });

    test("a run that sleeps is woken by a message with a delay", async () => {
      const { runId } = await cloud.submit("naps", {});
      expect((await cloud.ended(runId, "DONE")).output).toBe("woke");
      const deliveries = await deliveriesOf(runId);
      expect(deliveries.map(({ cause, outcome }) => [cause, outcome])).toEqual([
        ["admitted", "parked"],
        ["resumed", "done"],
      ]);
    });

    test("a handler that exits in the middle of a step is recovered, and the step before is not repeated", async () => {
      const { runId } = await cloud.submit("vanish", { mark: join(folder, "vanished") });
      const view = await cloud.ended(runId, "DONE");
      expect(view.output).toBe("came back");
      const deliveries = await deliveriesOf(runId);
      expect(deliveries[0]).toMatchObject({ outcome: "lost" });
      expect(deliveries[1]).toMatchObject({ cause: "recovered", outcome: "done" });
      const before = await cloud.rows("select from ghouls.journal where run_id = $1 and name = 'before'", [
        runId,
      ]);
      expect(before).toHaveLength(1);
    });

    test("a message that is lost is published again by the scheduled reconciler", async () => {
      await cloud.ended(lost, "DONE");
      const [delivery] = await cloud.rows<{ publications: number }>(
        "select publications from ghouls.deliveries where run_id = $1",
        [lost],
      );
      expect(delivery?.publications).toBeGreaterThanOrEqual(2);
    });
  });

  test("what the functions have logged can be read; of a question it is its kind and state, and nothing that it carried", async () => {
    const groups = new Map<string, string>();
    for await (const { group, text } of cloud.logs())
      groups.set(group, `${groups.get(group) ?? ""}${text}\n`);
    expect([...groups.keys()]).toEqual(
      expect.arrayContaining(["admission", "egress", "worker-runs", "reconciler"]),
    );
    const said = groups.get("egress") ?? "";
    expect(said).toContain('"service":"stonemason","kind":"submit","outcome":"accepted"');
    for (const order of mason.all()) expect(said).not.toContain(order.key);
    expect(said).not.toMatch(/"name":"(Ada|Grace)"|callback|127\.0\.0\.1|169\.254/);
  });

  test("the invariants hold of all that has been driven", async () => {
    const broken = await cloud.doctor();
    expect(broken).toEqual([]);
  });

  describe("a second deploy", () => {
    test("with changed code, while runs are queued and others come, loses and fails none", async () => {
      const parked = await asking("Mary");
      const consent = await consentOf(parked);
      await cloud.feed(false);
      const queued = await Promise.all(
        Array.from({ length: 12 }, (_, n) => cloud.submit("hello", { name: `${n}` })),
      );
      expect(
        (await cloud.ask("POST", "/v1/runs", { workflow: "farewell", input: { name: "x" } })).status,
      ).toBe(404);

      writeSecond(cloud.project);
      const coming: Promise<wire.Admitted>[] = [];
      const builds = () =>
        cloud.rows<{ build: string }>("select distinct build from ghouls.workflows where name = 'hello'");
      const [first] = await builds();
      // Admission comes first: from then on the old workers meet runs whose code they have from its release alone.
      await cloud.deploy(async ({ urn }) => {
        if (!urn.endsWith("::GhoulsAdmissionFunction")) return;
        await cloud.feed(true);
        const farewell = await cloud.submit("farewell", { name: "early" });
        expect(farewell.workflow.name).toBe("farewell");
        coming.push(Promise.resolve(farewell));
        for (let n = 0; n < 5; n += 1) coming.push(cloud.submit("hello", { name: `during ${n}` }));
        await cloud.ended(farewell.runId, "DONE");
      });
      const all = [...queued, ...(await Promise.all(coming))].map(({ runId }) => runId);
      for (const runId of all) await cloud.ended(runId, "DONE");
      expect((await builds())[0]?.build).not.toBe(first?.build);

      // No function has its code any more: a worker loads what the first deploy has left.
      const key = await makeKey(cloud, {
        tenantId: "acme",
        subject: "user:joan",
        roles: ["decider", "legal"],
      });
      const path = `/v1/consents/${consent?.consentId}/decision`;
      const word = { verdict: "grant", digest: consent?.digest };
      expect(await cloud.ask("POST", path, word, key.text)).toMatchObject({ status: 200 });
      const { workflow } = await cloud.ended(parked, "DONE");
      const kept = await cloud.rows<{ digest: string; build: string }>(
        "select workflow_digest as digest, build from ghouls.releases where workflow_name = 'asks' order by deployed_at",
      );
      expect(kept).toHaveLength(2);
      expect(kept[0]).toEqual({ digest: workflow.digest, build: first?.build });
      expect(await cloud.doctor()).toEqual([]);
    });

    test("that finds the ledger in contradiction stops, and the old code goes on", async () => {
      const { runId } = await cloud.submit("hello", { name: "x" }, { held: true });
      await cloud.rows("update ghouls.deliveries set seq = 7 where run_id = $1", [runId]);
      const stands = await cloud.codeOf("GhoulsAdmissionFunction");
      cloud.project.write(
        "hello.ts",
        `${cloud.project.read("hello.ts")}// Changes nothing, and every bundle.\nexport const more = 1;\n`,
      );
      await expect(cloud.deploy()).rejects.toThrow(
        /GhoulsPreflightInvocation stopped the deploy.*integrity_fault|contradicts itself/,
      );
      expect(await cloud.codeOf("GhoulsAdmissionFunction")).toBe(stands);
      const { runId: another } = await cloud.submit("hello", { name: "still" });
      await cloud.ended(another, "DONE");
      await cloud.rows("update ghouls.deliveries set seq = 1 where run_id = $1", [runId]);
    });

    test("leaves nothing at the endpoint once it is taken down", async () => {
      const removed = await cloud.takeDown();
      expect(removed).toBeGreaterThan(100);
      expect(await standing()).toEqual(await before);
    });
  });
});
