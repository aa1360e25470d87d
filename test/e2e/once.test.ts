import { spawn } from "node:child_process";
import { createHash, verify } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
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

/** What the S3 server has kept of a run's release: texts by name, and the keys of the step that put them. */
function releaseIn(folder: string, runId: string): { texts: Record<string, string>; keys: Set<unknown> } {
  const db = new DatabaseSync(join(folder, "state", "sqs", "fauxqs.db"), { readOnly: true });
  try {
    const rows = db
      .prepare(
        "select key, body, metadata from s3_objects where bucket = 'releases' and key like ? order by key",
      )
      .all(`releases/${runId}/%`) as { key: string; body: Uint8Array; metadata: string }[];
    const name = (key: string) => key.split("/").at(-1) ?? "";
    return {
      texts: Object.fromEntries(
        rows.map(({ key, body }) => [name(key), Buffer.from(body).toString("latin1")]),
      ),
      keys: new Set(
        rows.map(({ metadata }) => (JSON.parse(metadata) as Record<string, unknown>)["idempotency-key"]),
      ),
    };
  } finally {
    db.close();
  }
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
  expect(last.runs.map((run) => [run.workflow, run.status])).toEqual([
    ["hello", "DONE"],
    ["release-gate", "DONE"],
    ["agent", "DONE"],
  ]);
  // The second one is parked while the signing service works, and comes back by another delivery.
  expect(last.runs[0]?.enqueueSeq).toBe(1);
  expect(last.runs[1]?.enqueueSeq).toBeGreaterThan(1);
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
  const release = releaseIn(folder, last.runs[1]?.runId ?? "");
  const names = ["bom.json", "signer.pub.pem", "statement.json", "statement.sig", "verdict.json"];
  expect(Object.keys(release.texts)).toEqual(names);
  expect(release.keys.size).toBe(1);
  const statement = release.texts["statement.json"] ?? "";
  for (const name of ["bom.json", "verdict.json"]) {
    const bytes = await readFile(join(output, name));
    expect(release.texts[name]).toBe(bytes.toString("latin1"));
    expect(statement).toContain(createHash("sha256").update(bytes).digest("hex"));
  }
  const signature = Buffer.from(release.texts["statement.sig"] ?? "", "latin1");
  expect(
    verify(null, Buffer.from(statement, "latin1"), release.texts["signer.pub.pem"] ?? "", signature),
  ).toBe(true);
  expect(existsSync(join(folder, "state", "dev.json"))).toBe(false);

  // State is kept: a second start finds the same PostgreSQL and admits anew.
  const second = await once(folder);
  expect(second.code).toBe(0);
  expect(second.stdout).not.toContain(last.runs[0]?.runId);
  // The signing service has its key still, and S3 its objects.
  const again = JSON.parse(second.stdout.trimEnd().split("\n").at(-1) ?? "") as typeof last;
  const later = releaseIn(folder, again.runs[1]?.runId ?? "");
  expect(later.texts["signer.pub.pem"]).toBe(release.texts["signer.pub.pem"]);
  expect(releaseIn(folder, last.runs[1]?.runId ?? "")).toEqual(release);
});
