import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { serve } from "@hono/node-server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import {
  ATTENTION_REASONS,
  BUILT_IN_ROLES,
  DEPLOYMENT_PERMISSIONS,
  ERROR_CODES,
  QUARANTINE_REASONS,
  QueueSettings,
  RUN_FAILURE_CODES,
  SKIP_REASONS,
  STRANDED_CHECK,
} from "@ghouls/core";
import { planDeployment } from "@ghouls/functions";
import { DOCTOR_CHECKS, EVIDENCE_CHECKS, REDRIVE_REFUSALS } from "@ghouls/ledger";
import { createFetch, defineConfig, workflow } from "ghouls";
import { processIo } from "../../packages/cli/src/io.ts";
import { run } from "../../packages/cli/src/program.ts";
import { readSources } from "../architecture/sources.ts";
import { testDatabase } from "../support/database.ts";
import { makeRun } from "../support/factories.ts";
import { makeKey } from "../support/keys.ts";

/** The runbook against what it is about: every code has its entry, every entry its code, every command is one, every sample is printed. */

const path = fileURLToPath(new URL("../../packages/ghouls/RUNBOOK.md", import.meta.url));
const text = readFileSync(path, "utf8");

/** The text of a section, by its heading, with those that stand under it. */
function section(heading: string): string {
  const at = text.indexOf(`\n## ${heading}\n`);
  if (at < 0) throw new Error(`no section ${heading}`);
  const end = text.indexOf("\n## ", at + 4);
  return text.slice(at, end < 0 ? undefined : end);
}
const entriesOf = (heading: string) =>
  [...section(heading).matchAll(/^### `(.+)`$/gm)].map(([, code = ""]) => code);
const rowsOf = (heading: string) =>
  [...section(heading).matchAll(/^\| `([^`]+)` +\| (.*) \|$/gm)].map(([, code = "", rest = ""]) => ({
    code,
    rest,
  }));
const codesOf = (heading: string) => rowsOf(heading).map(({ code }) => code);
/** Codes of the API alone. */
const EDGE_CODES = ["unsupported_media_type", "method_not_allowed"];

describe("every code has an entry, and every entry a code:", () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ["doctor checks", codesOf("Doctor"), [...DOCTOR_CHECKS, ...EVIDENCE_CHECKS, STRANDED_CHECK]],
    ["attention", entriesOf("Attention"), ATTENTION_REASONS],
    ["quarantine", codesOf("Quarantine"), Object.keys(QUARANTINE_REASONS)],
    ["failures", codesOf("A run has failed"), RUN_FAILURE_CODES],
    ["refused redrives", codesOf("A redrive is refused"), [...REDRIVE_REFUSALS, "workflow_changed"]],
    ["errors", codesOf("Errors"), [...ERROR_CODES, ...EDGE_CODES]],
    ["skips", codesOf("A delivery was skipped"), SKIP_REASONS],
  ])("%s", (_what, entries, codes) => {
    expect(entries.toSorted((a, b) => a.localeCompare(b))).toEqual(
      [...codes].toSorted((a, b) => a.localeCompare(b)),
    );
  });

  test("problems of the API", () => {
    const problems = readSources().find((one) => one.path === "packages/api/src/problems.ts")?.text ?? "";
    const kinds = /ProblemKind>> = \{(.*?)\n\};/s.exec(problems)?.[1] ?? "";
    const codes = [...kinds.matchAll(/^ {2}(\w+): /gm)].map(([, code = ""]) => code);
    expect(codes.toSorted()).toEqual([...ERROR_CODES, ...EDGE_CODES].toSorted());
  });

  test("alarms, by the pattern of their names", () => {
    const queues = Object.fromEntries(["runs", "rites"].map((name) => [name, QueueSettings.parse({})]));
    const services = { signer: { times: { timeoutMs: 5_000 } } };
    const config = {
      queues,
      database: { schema: "ghouls", poolSize: 2 },
      reconciler: { hint: true },
      services,
    };
    const { alarms } = planDeployment(config, {});
    const patterns = entriesOf("Alarms").map((name) => ({
      name,
      pattern: new RegExp(`^${name.replaceAll(/<\w+>/g, ".+")}$`),
    }));
    for (const { id } of alarms) {
      expect(patterns.filter(({ pattern }) => pattern.test(id)).length, id).toBe(1);
    }
    for (const { name, pattern } of patterns)
      expect(
        alarms.some(({ id }) => pattern.test(id)),
        name,
      ).toBe(true);
  });

  test("texts of a quarantine: each that the code has is of one reason, and each reason of one", () => {
    const thrown = readSources()
      .filter((one) => one.path.startsWith("packages/engine/src/execution/"))
      .flatMap((one) => [...one.text.matchAll(/new DisagreementError\(`(.+?)`\)/g)])
      .map(([, template = ""]) =>
        template.replaceAll("${name}", "checkpoint 3").replaceAll(/\$\{[^}]+\}/g, "x"),
      );
    expect(thrown.length).toBeGreaterThanOrEqual(8);
    const kept = [
      ...thrown,
      "integrity: journals are as long as their runs say",
      "evidence: its terminal record is missing (seal 3)",
      "evidence: its stored output disagrees with its digest",
    ];
    const reasonsOf = (one: string) =>
      Object.entries(QUARANTINE_REASONS)
        .filter(([, pattern]) => pattern.test(one))
        .map(([reason]) => reason);
    for (const one of kept) expect(reasonsOf(one), one).toHaveLength(1);
    expect(new Set(kept.flatMap(reasonsOf))).toEqual(new Set(Object.keys(QUARANTINE_REASONS)));
  });
});

test("an entry says what it means and what to do", () => {
  for (const heading of ["Alarms", "Attention"]) {
    for (const entry of section(heading).split("\n### ").slice(1)) {
      expect(entry).toMatch(/^- \*\*Means\*\*: \S/m);
      expect(entry).toMatch(/^- \*\*Do\*\*: \S/m);
    }
  }
  const sections = [
    "Doctor",
    "Quarantine",
    "A run has failed",
    "A redrive is refused",
    "Errors",
    "A delivery was skipped",
  ];
  for (const { code, rest } of sections.flatMap(rowsOf)) expect(rest, code).toMatch(/^\S.* \|(?: \S.*)?/);
});

test("every link inside leads to a heading", () => {
  const anchors = [...text.matchAll(/^##+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\w -]/g, "")
      .replaceAll(" ", "-"),
  );
  const links = [...text.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor = ""]) => anchor);
  expect(links.length).toBeGreaterThan(8);
  for (const link of links) expect(anchors).toContain(link);
});

/** The words of a command line, as a shell has them. */
const wordsOf = (line: string) =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");

describe("commands", () => {
  const GIVEN: Readonly<Record<string, string>> = {
    "<why>": "why",
    "<how you know>": "asked them",
    "<workflow>": "hello",
    "<item>": "worker-1",
    "<name>": "acme",
  };
  /** Nothing of it reaches anything: what is known fails for that, and what is not known for being called wrongly. */
  async function called(line: string): Promise<{ code: number; err: string }> {
    let err = "";
    const refuse = () => Promise.reject(new Error("out of reach"));
    const refuseAtOnce = () => {
      throw new Error("out of reach");
    };
    const io = {
      ...processIo(),
      env: { DATABASE_URL: "postgres://u:p@127.0.0.1:1/d" },
      cwd: "/nowhere",
      out: () => undefined,
      err: (said: string) => void (err += said),
      loadLocal: refuse,
      loadWorker: refuse,
      loadDeployment: refuse,
      ledger: {
        migrate: refuse,
        migrationSql: refuseAtOnce,
        openLedger: refuseAtOnce,
        openStores: refuseAtOnce,
      },
    };
    const given = line.replaceAll(/<[\w ]+>/g, (one) => GIVEN[one] ?? randomUUID());
    return { code: await run(wordsOf(given), io), err };
  }
  /** What a reader is told to type: not what a command has printed. */
  const told = text.replaceAll(/^```console\n(\$ .*\n)(?:(?!```).*\n)*/gm, "$1");
  const lines = [...new Set([...told.matchAll(/npx ghouls ([^`\n]+)/g)].map(([, line = ""]) => line.trim()))];

  test("are many, and none is another program's", () => {
    expect(lines.length).toBeGreaterThan(30);
    expect(text.match(/^\$ (?!npx ghouls )/m)).toBeNull();
  });

  test.each(lines)("ghouls %s", async (line) => {
    const { code, err } = await called(line);
    expect(code, err).toBe(1);
  });

  test("that are none, or lack something, are found out by that", async () => {
    expect(await called("exorcise <run>")).toMatchObject({ code: 2 });
    expect(await called("clear <run>")).toMatchObject({ code: 2 });
    expect(await called('doctor --strict --reason "<why>"')).toMatchObject({ code: 2 });
  });
});

describe("samples", () => {
  const DAMAGED = "0b0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c";
  const ENDING = "5d2f8a10-1c2b-4d3e-8f40-516273849506";
  const FINISHED = "9e8d7c6b-5a49-4838-8271-60504f3e2d1c";
  const FAULT = "7a1e2d3c-4b5a-4978-8695-a4b3c2d1e0f3";
  const AT = "2026-11-30T03:00:00.000Z";
  let env: Readonly<Record<string, string>>;
  let db: Awaited<ReturnType<typeof testDatabase>>;
  let close = () => undefined as void;
  afterAll(() => close());

  beforeAll(async () => {
    db = await testDatabase();
    const gate = workflow({
      name: "release-gate",
      version: 1,
      onWorkerLoss: "resume",
      input: z.unknown(),
      run: () => Promise.resolve(null),
    });
    const fetchApi = createFetch(defineConfig({ workflows: [gate] }), {
      manifest: { "release-gate@1": "hello@1" },
      variables: { DATABASE_URL: db.applicationUrl },
      write: () => undefined,
    });
    const server = serve({ fetch: fetchApi, port: 0, hostname: "127.0.0.1" });
    await new Promise<void>((resolve) => void server.once("listening", () => resolve()));
    close = () => void server.close();
    const permissions = [...BUILT_IN_ROLES.operator, ...DEPLOYMENT_PERMISSIONS];
    const key = await makeKey(db, { tenantId: "acme", subject: "user:olga", roles: [], permissions });
    const { port } = server.address() as AddressInfo;
    env = {
      GHOULS_API_URL: `http://127.0.0.1:${port}`,
      GHOULS_TOKEN: key.text,
      DATABASE_URL: db.applicationUrl,
    };
    await makeRun(db, { runId: DAMAGED, workflow: "release-gate" });
    await db.admin("update ghouls.runs set journal_length = 2 where run_id = $1", [DAMAGED]);
    await makeRun(db, { runId: ENDING, status: "CANCELLING", workflow: "release-gate" });
    await db.admin(
      `insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
       values ('acme', $1, 'worker', '1', 1, gen_random_uuid(), 'worker-0', ghouls.clock(), ghouls.clock())`,
      [ENDING],
    );
    await db.admin("update ghouls.runs set open_items = 1 where run_id = $1", [ENDING]);
    const ledger = db.ledger();
    const reason = "containment: something of the run waits for a word";
    await ledger.runs.raiseAttention({ tenantId: "acme", runId: ENDING }, reason);
    await makeRun(db, { runId: FINISHED, status: "DONE", workflow: "release-gate" });
    await ledger.pauses.set({
      pauseId: randomUUID(),
      scope: "all",
      tenantId: null,
      workflow: null,
      actor: "user:olga",
      reason: "the bank answers twice",
    });
  });

  /** What a command prints today, with the ids and times of the runbook. */
  async function printed(line: string): Promise<string> {
    const [row] = await db.admin<{ fault_id: string }>("select fault_id from ghouls.integrity_faults");
    let said = "";
    const io = {
      ...processIo(),
      env,
      cwd: "/nowhere",
      user: () => "olga",
      out: (part: string) => void (said += part),
      err: (part: string) => void (said += part),
    };
    await run(wordsOf(line.replaceAll(FAULT, row?.fault_id ?? "none")), io);
    const [now] = await db.admin<{ fault_id: string }>("select fault_id from ghouls.integrity_faults");
    return said
      .replaceAll(now?.fault_id ?? "none", FAULT)
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, AT)
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, (id) =>
        [DAMAGED, ENDING, FINISHED, FAULT].includes(id) ? id : "…",
      );
  }

  // Renewed with `-u`, like a snapshot; each in its turn, so that what one changes the next one sees.
  test("are what the commands print today, in the order in which they stand", async () => {
    const parts = text.split(/(?<=^```console\n)|(?=^```$)/m);
    const fresh: string[] = [];
    let samples = 0;
    for (const part of parts) {
      const line = /^\$ npx ghouls (.+)$/m.exec(part.split("\n")[0] ?? "")?.[1];
      if (line === undefined || fresh.at(-1)?.endsWith("```console\n") !== true) {
        fresh.push(part);
        continue;
      }
      samples += 1;
      fresh.push(`$ npx ghouls ${line}\n${await printed(line)}`);
    }
    expect(samples).toBeGreaterThanOrEqual(10);
    await expect(fresh.join("")).toMatchFileSnapshot(path);
  });
});
