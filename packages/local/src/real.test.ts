import { EventEmitter } from "node:events";
import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { runDev } from "./dev.ts";
import { cleanEnv } from "./fake-parts.support.ts";
import { installedParts } from "./installed-parts.ts";

// Real processes on a machine that may be busy.

const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "ghouls-real-"));
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("with the installed parts, the examples of a configuration are carried to their end, on a new folder and again", async () => {
  const config = fileURLToPath(new URL("./real.config.support.ts", import.meta.url));
  for (const _ of ["new", "again"]) {
    const out: string[] = [];
    const err: string[] = [];
    const code = await runDev(
      { config, dataDir: join(folder, "data"), port: 0, once: true },
      {
        env: cleanEnv(),
        nodeVersion: process.versions.node,
        out: (line) => out.push(line),
        err: (line) => err.push(line),
        parts: installedParts,
        signals: new EventEmitter(),
        exit: () => undefined,
        monotonicMs: () => 0,
        parentPid: () => 1,
      },
    );
    expect(err).toEqual([]);
    expect(code).toBe(0);
    const run = { runId: expect.any(String), workflow: "double", status: "DONE", enqueueSeq: 1, steps: 1 };
    expect(JSON.parse(out.at(-1) ?? "")).toEqual({ ok: true, runs: [run, run] });
  }
});
