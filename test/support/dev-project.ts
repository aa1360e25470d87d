import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { startHost, type Host, type HostOptions } from "@ghouls/local";
import type { wire } from "@ghouls/core";
import { expect } from "vitest";
import { processIo } from "../../packages/cli/src/io.ts";
import { run } from "../../packages/cli/src/program.ts";
import { installedParts } from "../../packages/local/src/installed-parts.ts";
import type { Parts } from "../../packages/local/src/parts.ts";
import type { DevState } from "../../packages/local/src/state.ts";

/** A test that wants runs to outlive their code says so: most want to know what becomes of those that cannot. */
async function partsWithoutReleases(): Promise<Parts> {
  const { functions: _functions, ...parts } = await installedParts();
  return parts;
}

const repository = fileURLToPath(new URL("../..", import.meta.url));

/** A project of a user's in a folder of its own, and `ghouls dev` over it. */
export interface DevProject {
  readonly folder: string;
  /** What the host has said, in order. */
  readonly said: readonly string[];
  /** The command in the project's folder, as its author types it. */
  ghouls(...argv: string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }>;
  save(files: Readonly<Record<string, string>>): Promise<void>;
  start(over?: Partial<HostOptions>): Promise<Host>;
  /** What dev.json says now. */
  state(): Promise<DevState>;
  submit(workflow: string, input?: unknown): Promise<string>;
  view(runId: string): Promise<wire.RunView>;
  /** Waits until the run has this status. */
  until(runId: string, status: string): Promise<wire.RunView>;
  /** The decider's word about the consent that the run waits for. */
  decide(runId: string, verdict: wire.DecisionRequest["verdict"]): Promise<void>;
  timeline(runId: string): Promise<wire.Timeline["entries"]>;
  get<T>(path: string): Promise<T>;
  remove(): Promise<void>;
}

export async function devProject(files: Readonly<Record<string, string>>): Promise<DevProject> {
  const folder = await mkdtemp(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "ghouls-project-"));
  // As root, PostgreSQL runs as another user, who must be able to pass through.
  await chmod(folder, 0o755);
  await symlink(join(repository, "node_modules"), join(folder, "node_modules"));
  const dataDir = join(folder, ".ghouls");
  const said: string[] = [];
  const hosts: Host[] = [];
  const save: DevProject["save"] = async (changed) => {
    for (const [path, text] of Object.entries(changed)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
  };
  await save({ "package.json": `{"type":"module"}`, ...files });
  const state = async () => JSON.parse(await readFile(join(dataDir, "dev.json"), "utf8")) as DevState;
  const call = async <T>(
    path: string,
    body?: unknown,
    as: keyof DevState["tokens"] = "operator",
  ): Promise<T> => {
    const { apiUrl, tokens } = await state();
    const response = await fetch(`${apiUrl}${path}`, {
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      headers: { authorization: `Bearer ${tokens[as]}`, "content-type": "application/json" },
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
    return JSON.parse(text) as T;
  };
  const view = (runId: string) => call<wire.RunView>(`/v1/runs/${runId}`);
  return {
    folder,
    said,
    save,
    ghouls: async (...argv) => {
      let [out, err] = ["", ""];
      const code = await run(argv, {
        ...processIo(),
        env: {},
        cwd: folder,
        out: (text) => void (out += text),
        err: (text) => void (err += text),
      });
      return { code, out: out.trim(), err: err.trim() };
    },
    state,
    view,
    get: (path) => call(path),
    start: async (over = {}) => {
      const kept = Object.entries(process.env).filter(([name]) => !/^(AWS_|GHOULS_|DATABASE_)/.test(name));
      const host = await startHost({
        configPath: join(folder, "ghouls.config.ts"),
        dataDir,
        port: 0,
        env: Object.fromEntries(kept),
        print: (line) => said.push(line),
        printLog: (line) => said.push(line),
        parts: await partsWithoutReleases(),
        watch: false,
        reconcileEveryMs: 250,
        ...over,
      });
      hosts.push(host);
      return host;
    },
    submit: async (workflow, input = null) =>
      (await call<wire.Admitted>("/v1/runs", { workflow, input })).runId,
    until: async (runId, status) => {
      let last: wire.RunView | undefined;
      try {
        await expect.poll(async () => (last = await view(runId)).status, { timeout: 60_000 }).toBe(status);
      } catch (error) {
        const seen = { last, entries: (await call<wire.Timeline>(`/v1/runs/${runId}/timeline`)).entries };
        throw new Error(`run ${runId} is not ${status}: ${JSON.stringify(seen)}`, { cause: error });
      }
      return view(runId);
    },
    decide: async (runId, verdict) => {
      const { consents } = await call<wire.ConsentPage>(`/v1/consents?runId=${runId}`);
      const [consent] = consents;
      if (consent === undefined) throw new Error(`run ${runId} waits for no consent`);
      await call(
        `/v1/consents/${consent.consentId}/decision`,
        { verdict, digest: consent.digest },
        "decider",
      );
    },
    timeline: async (runId) => (await call<wire.Timeline>(`/v1/runs/${runId}/timeline`)).entries,
    remove: async () => {
      for (const host of hosts) await host.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
