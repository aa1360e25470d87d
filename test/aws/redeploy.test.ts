import { describe, expect, inject, test } from "vitest";
import type { wire } from "@ghouls/core";
import { deployedCloud } from "./cloud.ts";
import { writeSecond } from "./deployed-project.ts";
import { standing } from "./standing.ts";

describe.skipIf(inject("emulator") === null)("a second deploy", () => {
  const before = standing();
  const cloud = deployedCloud();

  test("with changed code, while runs are queued and others come, loses and fails none", async () => {
    await cloud.feed(false);
    const queued = await Promise.all(
      Array.from({ length: 12 }, (_, n) => cloud.submit("hello", { name: `${n}` })),
    );
    expect((await cloud.ask("POST", "/v1/runs", { workflow: "farewell", input: { name: "x" } })).status).toBe(
      404,
    );

    writeSecond(cloud.project);
    const coming: Promise<wire.Admitted>[] = [];
    const builds = () =>
      cloud.rows<{ build: string }>("select distinct build from ghouls.workflows where name = 'hello'");
    const [first] = await builds();
    // Admission comes first: from then on the old workers meet runs that only the new build knows.
    await cloud.deploy(async ({ urn }) => {
      if (!urn.endsWith("::GhoulsAdmissionFunction")) return;
      await cloud.feed(true);
      const farewell = await cloud.submit("farewell", { name: "early" });
      expect(farewell.workflow.name).toBe("farewell");
      coming.push(Promise.resolve(farewell));
      for (let n = 0; n < 5; n += 1) coming.push(cloud.submit("hello", { name: `during ${n}` }));
      // An old worker has had it in its hands, and given it back.
      await cloud.seen(
        "select from ghouls.deliveries where run_id = $1 and outcome = 'given_back'",
        [farewell.runId],
        60_000,
      );
    });
    for (const { runId } of [...queued, ...(await Promise.all(coming))]) {
      await cloud.ended(runId, "DONE", 200_000);
    }
    expect((await builds())[0]?.build).not.toBe(first?.build);
    expect(await cloud.rows("select run_id from ghouls.runs where status <> 'DONE'")).toEqual([]);
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
