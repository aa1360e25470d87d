import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folders: string[] = [];
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Milliseconds from the start to the first settled run, as it was printed. */
  readonly firstSettledMs: number;
}

async function once(folder: string): Promise<Ended> {
  const started = performance.now();
  const config = join(root, "packages/workflows/ghouls.config.ts");
  const child = spawn(
    process.execPath,
    [
      join(root, "packages/ghouls/bin/ghouls.mjs"),
      "dev",
      "--config",
      config,
      "--data-dir",
      join(folder, "state"),
      "--port",
      "0",
      "--once",
    ],
    { cwd: folder, stdio: ["ignore", "pipe", "pipe"] },
  );
  let [stdout, stderr, firstSettledMs] = ["", "", Infinity];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    if (firstSettledMs === Infinity && stdout.includes("settled"))
      firstSettledMs = performance.now() - started;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, stdout, stderr, firstSettledMs };
}

test("npm start -- --once carries the examples to their end, shows how, and leaves nothing running", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ghouls-once-"));
  folders.push(folder);
  // As root, PostgreSQL runs as another user, who must be able to pass through.
  await chmod(folder, 0o755);
  const first = await once(folder);
  expect([first.code, first.stderr]).toEqual([0, ""]);
  // Some five seconds where nothing else runs; this is for a machine that is many times slower.
  expect(first.firstSettledMs).toBeLessThan(60_000);
  for (const word of ["admitted", "published", "claimed", "step", "settled", "DONE"])
    expect(first.stdout).toContain(word);

  const last = JSON.parse(first.stdout.trimEnd().split("\n").at(-1) ?? "") as {
    ok: boolean;
    runs: { runId: string; workflow: string; status: string; enqueueSeq: number; steps: number }[];
  };
  expect(last.ok).toBe(true);
  expect(last.runs.map((run) => [run.workflow, run.status, run.enqueueSeq])).toEqual([
    ["hello", "DONE", 1],
    ["release-gate", "DONE", 1],
  ]);
  expect(Object.keys(last.runs[0] ?? {})).toEqual(["runId", "workflow", "status", "enqueueSeq", "steps"]);

  const output = join(folder, "output", last.runs[1]?.runId ?? "");
  expect((await readdir(output)).toSorted()).toEqual(["bom.json", "verdict.json"]);
  const bom = JSON.parse(await readFile(join(output, "bom.json"), "utf8")) as {
    specVersion: string;
    components: unknown[];
  };
  const verdict = JSON.parse(await readFile(join(output, "verdict.json"), "utf8")) as { decision: string };
  expect(bom.specVersion).toBe("1.6");
  expect(bom.components.length).toBeGreaterThan(100);
  expect(verdict.decision).toBe("PASSED");
  expect(existsSync(join(folder, "state", "dev.json"))).toBe(false);

  // State is kept: a second start finds the same PostgreSQL and admits anew.
  const second = await once(folder);
  expect(second.code).toBe(0);
  expect(second.stdout).not.toContain(last.runs[0]?.runId);
});
