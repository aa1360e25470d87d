import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { GhoulsError, type IntegrityFault, type Judgement } from "@ghouls/core";
import { AT, folder, ghouls, NO_RELEASES } from "../fakes.support.ts";
import type { DeploymentTools, Io, LedgerTools } from "../io.ts";

const FAULT: IntegrityFault = {
  faultId: "7a1e2d3c-4b5a-4978-8695-a4b3c2d1e0f3",
  check: "journals are as long as their runs say",
  tenantId: "acme",
  runId: "0b0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c",
  subject: "0b0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c",
  detail: '{"status": "QUEUED"}\u001b[2J',
  foundAt: new Date(AT),
  foundBy: "doctor",
  seenAt: new Date(AT),
  goneAt: null,
  quarantine: "made",
  acknowledged: null,
};
const KNOWN = { ...FAULT, acknowledged: { by: "ada", reason: "known", at: new Date(AT) } };
const SOUND: Judgement = {
  checks: 13,
  strandedJudged: false,
  states: [{ status: "QUEUED", runs: 2, checked: 1, faulty: 1 }],
  repaired: 0,
  newFaults: 0,
  goneFaults: 0,
  quarantined: 0,
  acknowledged: { count: 0, first: [] },
  refused: { count: 0, first: [] },
};

/** The doctor over a ledger that answers so, and what it was asked. */
async function doctor(
  argv: readonly string[],
  answers: {
    readonly judged?: Judgement;
    readonly word?: { readonly acknowledged: boolean; readonly fault: IntegrityFault } | null;
  } = {},
  world: Partial<Io> = {},
) {
  const asked: unknown[] = [];
  const openLedger = ((options) => {
    asked.push(options.connectionString);
    return {
      doctor: () => Promise.reject(new Error("this test did not expect the checks")),
      releases: NO_RELEASES,
      runs: { repinIfUnclaimed: () => Promise.reject(new Error("the doctor moves no run")) },
      integrity: {
        judge: ({ by, carried }) => {
          asked.push({ by, carried });
          return Promise.resolve(answers.judged ?? SOUND);
        },
        acknowledge: (faultId, word) => {
          asked.push({ faultId, ...word });
          return Promise.resolve(answers.word ?? null);
        },
      },
      evidence: { verify: () => Promise.reject(new Error("nobody asked for all of it")) },
      close: () => Promise.resolve(void asked.push("closed")),
    };
  }) satisfies LedgerTools["openLedger"];
  const unused = () => {
    throw new Error("not expected");
  };
  const outcome = await ghouls(["doctor", ...argv], {
    env: { DATABASE_URL: "url" },
    ...world,
    ledger: { migrate: unused, migrationSql: unused, openStores: unused, openLedger },
  });
  return { ...outcome, asked };
}

const WORD = ["--acknowledge", FAULT.faultId, "--reason", "known"];

describe("doctor --strict", () => {
  it("prints the table, and says that it did not judge runs without their code", async () => {
    const outcome = await doctor(["--strict"]);
    expect(outcome).toMatchObject({ code: 0, err: "" });
    expect(outcome.out).toBe(`STATUS  RUNS  CHECKED  FAULTY
QUEUED     2        1       1

judged: 13 checks; runs without their code were not looked for
repaired: 0 terminal records written
found: 0 new, 0 gone; 0 runs quarantined
acknowledged: 0
refused: 0
`);
    expect(outcome.asked).toEqual(["url", { by: "doctor", carried: undefined }, "closed"]);
  });

  it("is 1 for a fault that nobody has acknowledged, 0 for one that somebody has, and lists both", async () => {
    const [refused, known] = [
      { count: 3, first: [FAULT] },
      { count: 1, first: [KNOWN] },
    ];
    const outcome = await doctor(["--strict"], { judged: { ...SOUND, refused, acknowledged: known } });
    expect(outcome.code).toBe(1);
    expect(outcome.out).toContain(String.raw`acknowledged: 1
  ${FAULT.faultId}  not so: journals are as long as their runs say
    acme ${FAULT.runId}: {"status": "QUEUED"}\u001b[2J
    ${AT} by ada: known
refused: 3
  ${FAULT.faultId}  not so: journals are as long as their runs say
    acme ${FAULT.runId}: {"status": "QUEUED"}\u001b[2J
  and 2 more
`);
    expect(outcome.err).toBe(
      'Settle each, or let it stand: ghouls doctor --acknowledge <fault> --reason "<why>"\n',
    );
    expect(await doctor(["--strict"], { judged: { ...SOUND, acknowledged: known } })).toMatchObject({
      code: 0,
      err: "",
    });
    const json = await doctor(["--strict", "--json"], { judged: { ...SOUND, refused } });
    expect(json).toMatchObject({ code: 1, err: "" });
    expect(JSON.parse(json.out)).toMatchObject({
      ok: false,
      checks: 13,
      refused: { count: 3, first: [{ faultId: FAULT.faultId }] },
    });
  });

  it("judges runs without their code against what a configuration has and accepts", async () => {
    const tools = {
      workflowsOf: (config: string) =>
        Promise.resolve([
          {
            name: "hello",
            version: 1,
            digest: `d of ${config}`,
            accepts: ["d0"],
            onWorkerLoss: "fail",
            queue: undefined,
          },
        ]),
    } as unknown as DeploymentTools;
    const outcome = await doctor(
      ["--strict", "--config", "c.ts"],
      {},
      { loadDeployment: () => Promise.resolve(tools), cwd: "/project" },
    );
    expect(outcome.asked[1]).toEqual({
      by: "doctor",
      carried: [
        { name: "hello", digest: "d of /project/c.ts" },
        { name: "hello", digest: "d0" },
      ],
    });
  });
});

describe("doctor --acknowledge", () => {
  it("keeps the word of the system's user, marked as one from the command line, and says what holds the run still", async () => {
    const outcome = await doctor(WORD, { word: { acknowledged: true, fault: KNOWN } });
    expect(outcome).toMatchObject({ code: 0, err: "" });
    expect(outcome.out).toBe(`acknowledged: not so: journals are as long as their runs say (${FAULT.runId})
its run is quarantined until: ghouls clear ${FAULT.runId} --reason "<why it may go on>"
`);
    expect(outcome.asked).toEqual([
      "url",
      { faultId: FAULT.faultId, actor: "olga (command line)", reason: "known" },
      "closed",
    ]);
    const other = await doctor([...WORD, "--actor", "ada"], { word: { acknowledged: true, fault: KNOWN } });
    expect(other.asked[1]).toMatchObject({ actor: "ada (command line)" });
    const calm = { ...KNOWN, quarantine: "ended" as const };
    expect((await doctor(WORD, { word: { acknowledged: true, fault: calm } })).out).not.toContain("clear");
  });

  it("says who was first, and that one is gone", async () => {
    const first = await doctor(WORD, { word: { acknowledged: false, fault: KNOWN } });
    expect(first).toMatchObject({ code: 0, out: `acknowledged before, ${AT} by ada: known\n` });
    const gone = await doctor(WORD, {
      word: { acknowledged: false, fault: { ...FAULT, goneAt: new Date(AT) } },
    });
    expect(gone).toMatchObject({ code: 1, out: `gone since ${AT}: there is nothing to acknowledge\n` });
    const json = await doctor([...WORD, "--json"], { word: { acknowledged: false, fault: KNOWN } });
    expect(JSON.parse(json.out)).toMatchObject({
      acknowledged: false,
      fault: { acknowledged: { by: "ada" } },
    });
  });

  it("refuses a fault that there is not", async () => {
    const outcome = await doctor(WORD, { word: null });
    expect(outcome.code).toBe(1);
    expect(outcome.err).toContain(`there is no fault ${FAULT.faultId}`);
    expect(outcome.asked.at(-1)).toBe("closed");
  });

  it.each([
    [["--reason", "x"], "--reason and --actor are for --acknowledge"],
    [["--actor", "x"], "--reason and --actor are for --acknowledge"],
    [["--config", "c.ts"], "--config is for --strict"],
    [[...WORD, "--strict"], "--acknowledge judges nothing"],
    [["--acknowledge", FAULT.faultId], "--acknowledge needs a reason"],
    [["--acknowledge", "x", "--reason", "y"], '"x" is no id of a fault'],
    [["--acknowledge", FAULT.faultId, "--reason", " "], "Give a text of one line"],
  ])("%j asks the ledger nothing", async (argv, message) => {
    const outcome = await doctor(argv);
    expect(outcome).toMatchObject({ code: 2, asked: [] });
    expect(outcome.err).toContain(message);
  });
});

describe("where no host runs", () => {
  const stopped = () => folder({ ".ghouls/postgres/PG_VERSION": "18" });

  it("starts the database of the data folder for as long as it takes", async () => {
    const cwd = await stopped();
    let closed = 0;
    const loadLocal = () =>
      Promise.resolve({
        runDev: () => Promise.reject(new Error("this test did not expect a host")),
        openStoppedDatabase: (dataDir: string) =>
          Promise.resolve({
            connectionString: `stopped at ${dataDir}`,
            close: () => Promise.resolve(void (closed += 1)),
          }),
      });
    const word = { acknowledged: true, fault: KNOWN };
    const outcome = await doctor(WORD, { word }, { env: {}, cwd, loadLocal });
    expect(outcome).toMatchObject({ code: 0 });
    expect(outcome.asked[0]).toBe(`stopped at ${cwd}/.ghouls`);
    expect(closed).toBe(1);
    expect(await doctor(WORD, { word: null }, { env: {}, cwd, loadLocal })).toMatchObject({ code: 1 });
    expect(closed).toBe(2);
  });

  it.each([
    ["a host that was killed", 0, ["host", "postgres"], "stopped"],
    ["a host that runs", process.pid, ["host", "postgres"], "running"],
    ["a killed host that was given its database", 0, ["host"], "running"],
  ])("with the dev.json of %s (%i) looks into the right one", async (_what, pid, roles, which) => {
    const gone = spawnSync(process.execPath, ["--version"]).pid;
    const processes = roles.map((role) => ({ role, pid: pid === 0 ? gone : pid }));
    const cwd = await folder({
      ".ghouls/postgres/PG_VERSION": "18",
      ".ghouls/dev.json": JSON.stringify({ apiUrl: "http://127.0.0.1:9", databaseUrl: "running", processes }),
    });
    const stoppedDatabase = { connectionString: "stopped", close: () => Promise.resolve() };
    const loadLocal = () =>
      Promise.resolve({
        runDev: () => Promise.reject(new Error("this test did not expect a host")),
        openStoppedDatabase: () => Promise.resolve(stoppedDatabase),
      });
    expect((await doctor(["--strict"], {}, { env: {}, cwd, loadLocal })).asked[0]).toBe(which);
  });

  it("says why it cannot, and what is missing", async () => {
    const cwd = await stopped();
    const busy = new GhoulsError("configuration_invalid", "another host uses the data folder", {
      fix: "End it first.",
    });
    const local = (error: Error) => ({ env: {}, cwd, loadLocal: () => Promise.reject(error) });
    expect((await doctor(["--strict"], {}, local(busy))).err).toContain("another host uses the data folder");
    const missing = Object.assign(new Error("Cannot find package '@ghouls/local'"), {
      code: "ERR_MODULE_NOT_FOUND",
    });
    expect((await doctor(["--strict"], {}, local(missing))).err).toContain(
      "npm install --save-dev @ghouls/local",
    );
    const none = await doctor(["--strict"], {}, { env: {}, cwd: await folder() });
    expect(none).toMatchObject({ code: 2, asked: [] });
    expect(none.err).toContain("no database is named, and there is none of `ghouls dev` in /");
    expect(await doctor(["--strict", "--data-dir", "a".repeat(5_000)], {}, { env: {}, cwd })).toMatchObject({
      code: 1,
    });
  });
});
