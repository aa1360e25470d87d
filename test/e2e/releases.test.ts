import { afterEach, expect, test, vi } from "vitest";
import { installedParts } from "../../packages/local/src/installed-parts.ts";
import { devProject, type DevProject } from "../support/dev-project.ts";

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 60_000 });

let project: DevProject;
afterEach(() => project.remove());

const CONFIG = `import { defineConfig } from "ghouls";
import { gate } from "./gate.ts";
export default defineConfig({ workflows: [gate] });
`;
const gate = (word: string) => `import { workflow } from "ghouls";
import * as z from "zod";
export const gate = workflow({
  name: "gate", version: 1, onWorkerLoss: "resume", input: z.string(),
  run: async (ctx, name) => {
    const before = await ctx.step("first", () => name + " ${word}");
    await ctx.waitForSignal("go");
    return [before, await ctx.step("second", () => "${word}")];
  },
});
`;

const ghouls = (...argv: string[]) => project.ghouls(...argv);

async function parked(name: string): Promise<string> {
  const runId = await project.submit("gate", name);
  await project.until(runId, "AWAITING_SIGNAL");
  return runId;
}

async function outputOf(runId: string): Promise<unknown> {
  expect(await ghouls("signal", runId, "go", "--payload", "1")).toMatchObject({ code: 0 });
  return (await project.until(runId, "DONE")).output;
}

interface Listed {
  readonly releases: readonly { readonly name: string; readonly digest: string; readonly runs: number }[];
}
const releases = async () =>
  (JSON.parse((await ghouls("workflows", "releases", "--json")).out) as Listed).releases;
const said = () => project.said.filter((line) => line.startsWith("host |")).map((line) => line.slice(7));
const says = (text: RegExp) => expect.poll(() => said().some((line) => text.test(line))).toBe(true);

test("on one machine, runs outlive their code: over restarts, and over what is saved meanwhile", async () => {
  project = await devProject({ "ghouls.config.ts": CONFIG, "gate.ts": gate("one") });
  const parts = await installedParts();
  const first = await project.start({ parts });
  const [a, b] = [await parked("a"), await parked("b")];
  // A stop waits for the release of code that a run is pinned to.
  await first.stop();
  await project.save({ "gate.ts": gate("two") });
  await project.start({ parts, watch: true });
  await says(/^2 runs go on with the code of before, which is kept for that/);
  const c = await parked("c");
  await project.save({ "gate.ts": gate("three") });
  await says(/^reloaded: /);
  await says(/^ {2}3 runs go on with the code of before, which is kept for that/);
  const d = await parked("d");
  const ridden = async () => (await releases()).map(({ runs }) => runs).toSorted((x, y) => x - y);
  await expect.poll(ridden).toEqual([1, 1, 2]);

  const diff = await ghouls("workflows", "diff", "--json");
  expect(JSON.parse(diff.out)).toMatchObject({ workflows: [{ name: "gate", differences: [] }] });
  expect(await outputOf(a)).toEqual(["a one", "one"]);
  expect(await outputOf(c)).toEqual(["c two", "two"]);
  expect(await outputOf(d)).toEqual(["d three", "three"]);
  // The author's word comes before the release.
  expect(await ghouls("dev", "replay", b)).toMatchObject({ code: 0 });
  expect(await outputOf(b)).toEqual(["b one", "three"]);

  await project.save({ "gate.ts": gate("four") });
  const changed = await ghouls("workflows", "diff");
  expect(changed.out).toMatch(
    /^gate@1: \w{64}, which was \w{64} \(version 1\)\n {2}changed {2}module gate\.ts$/,
  );
  expect(await ghouls("workflows", "prune", "--unused", "1h")).toMatchObject({
    code: 0,
    out: "0 releases removed, 0 bundles deleted",
  });
  expect((await ghouls("doctor", "--database-url", (await project.state()).databaseUrl)).code).toBe(0);
});
