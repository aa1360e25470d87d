import { afterEach, expect, test, vi } from "vitest";
import type { wire } from "@ghouls/core";
import { devProject, type DevProject } from "../support/dev-project.ts";

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 60_000 });

let project: DevProject;
afterEach(() => project.remove());

const CONFIG = `import { defineConfig } from "ghouls";
import { gate } from "./gate.ts";
export default defineConfig({ workflows: [gate] });
`;
/** Each of its steps tells the word of the code that has run it. */
const gate = (word: string, first = "first") => `import { workflow } from "ghouls";
import * as z from "zod";
export const gate = workflow({
  name: "gate", version: 1, onWorkerLoss: "resume", input: z.string(),
  run: async (ctx, name) => {
    const before = await ctx.step("${first}", () => name + " ${word}");
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

async function go(runId: string, status: string): Promise<wire.RunView> {
  expect(await ghouls("signal", runId, "go", "--payload", "1")).toMatchObject({ code: 0 });
  return project.until(runId, status);
}

const said = () => project.said.filter((line) => line.startsWith("host |")).map((line) => line.slice(7));
const says = (text: RegExp) => expect.poll(() => said().some((line) => text.test(line))).toBe(true);

test("a start goes on beside runs of other code, and replay, restart and discard do what they say", async () => {
  project = await devProject({ "ghouls.config.ts": CONFIG, "gate.ts": gate("old") });
  const host = await project.start();
  const [replayed, restarted, discarded, changed] = [
    await parked("a"),
    await parked("b"),
    await parked("c"),
    await parked("d"),
  ];
  const held = (await ghouls("submit", "gate", "--input", '"f"', "--held")).out;
  await host.stop();
  await project.save({ "gate.ts": gate("new") });
  await project.start({ watch: true });
  await says(/^5 runs are of code that is not here any more; what becomes of each is yours to say:$/);
  for (const runId of [replayed, restarted, discarded, changed, held])
    expect(said().join("\n")).toContain(`  ${runId}  gate@1 (`);
  const commands = said().flatMap((line) => /npx ghouls dev (\w+) <run>/.exec(line)?.slice(1) ?? []);
  expect(commands).toEqual(["replay", "restart", "discard"]);
  expect((await go(await parked("e"), "DONE")).output).toEqual(["e new", "new"]);

  const replay = await ghouls("dev", "replay", replayed);
  expect(replay).toMatchObject({ code: 0, out: expect.stringMatching(/^pinned to [0-9a-f]+$/) });
  // Its first step is of the journal, and is not run again.
  expect((await go(replayed, "DONE")).output).toEqual(["a old", "new"]);

  // One that no worker has had yet begins with the code of now.
  expect(await ghouls("dev", "replay", held)).toMatchObject({ code: 0 });
  expect(await ghouls("release", held)).toMatchObject({ code: 0 });
  await project.until(held, "AWAITING_SIGNAL");
  expect((await go(held, "DONE")).output).toEqual(["f new", "new"]);

  const restart = await ghouls("dev", "restart", restarted);
  expect(restart.err).toBe(`${restarted} is CANCELLED`);
  await project.until(restart.out, "AWAITING_SIGNAL");
  expect((await go(restart.out, "DONE")).output).toEqual(["b new", "new"]);
  expect((await ghouls("dev", "restart", restarted)).code).toBe(1);

  expect(await ghouls("dev", "discard", discarded)).toMatchObject({ code: 0, out: "CANCELLED" });
  expect((await project.view(discarded)).status).toBe("CANCELLED");

  // Code with another first call does not fit the journal: that is found, and the call is not made in its place.
  await project.save({ "gate.ts": gate("newest", "zeroth") });
  await says(/^ {2}1 run is of code that is not here any more; what becomes of it is yours to say:$/);
  expect(await ghouls("dev", "replay", changed)).toMatchObject({ code: 0 });
  const failed = await go(changed, "FAILED");
  expect(failed).toMatchObject({ errorCode: "journal_mismatch", steps: 2 });
  expect(failed.error?.message).toContain("zeroth");
  expect((await ghouls("doctor", "--database-url", (await project.state()).databaseUrl)).code).toBe(0);
});
