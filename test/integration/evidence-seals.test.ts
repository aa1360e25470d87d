import { beforeEach, describe, expect, test } from "vitest";
import { workflow } from "ghouls";
import { sha256 } from "@ghouls/core";
import { sealsPass } from "@ghouls/engine";
import * as z from "zod";
import { makeRun } from "../support/factories.ts";
import { LONG_TURN, roundOf } from "../support/passes.ts";
import { waiting } from "../support/races.ts";
import { SOMEBODY, testWorld } from "../support/world.ts";

/** Terminal records are sealed in a chain for each tenant; what is altered, or removed, is found and never overwritten. */

const hooks = { fault: (_point: string, _detail: string): void | Promise<void> => undefined };
const hello = workflow({
  name: "hello",
  version: 1,
  onWorkerLoss: "resume",
  input: z.unknown(),
  run: (ctx) => ctx.step("greet", () => "hello"),
});
const world = await testWorld({
  workflows: [hello],
  faults: (point, detail) => hooks.fault(point, detail),
});
const { db, ledger } = world;
const log = world.deps.log;
const seals = sealsPass({ ledger, faults: (point, detail) => hooks.fault(point, detail), log });
const CHECK = "terminal evidence agrees with its run";

beforeEach(async () => {
  hooks.fault = () => undefined;
  world.logged.length = 0;
  await world.reset();
  await db.admin("update ghouls.seal_checks set tenant_id = null, number = null, next_at = 'infinity'");
});

/** Runs that have ended with their records, in the order of their ends. */
async function ended(count: number, tenantId = SOMEBODY.tenantId): Promise<string[]> {
  const runIds: string[] = [];
  for (let nth = 0; nth < count; nth += 1) {
    const run = await makeRun(db, { tenantId, status: "FAILING" });
    await db.admin(
      "update ghouls.runs set status = 'FAILED', finished_at = ghouls.clock() where run_id = $1",
      [run.runId],
    );
    await ledger.evidence.carryOut({ tenantId, runId: run.runId }, "record");
    runIds.push(run.runId);
  }
  return runIds;
}
const due = () => world.advance(61);
const checkDue = () => db.admin("update ghouls.seal_checks set next_at = ghouls.clock()");
const chain = (tenantId = SOMEBODY.tenantId) =>
  db.admin<{
    number: number;
    previous_digest: string | null;
    records: number;
    members_text: string;
    digest: string;
  }>(
    "select number, previous_digest, records, members_text, digest from ghouls.seals where tenant_id = $1 order by number",
    [tenantId],
  );
const membersOf = (text: string) => text.split("\n").map((line) => line.split(" ")[1]);
const faults = () =>
  db.admin(
    "select check_name, run_id, subject, detail, gone_at is null as stands from ghouls.integrity_faults order by found_at, subject",
  );
const stateOf = async (runId: string) => {
  const [run] = await db.admin<{ status: string; quarantine_reason: string | null }>(
    "select status, quarantine_reason from ghouls.runs where run_id = $1",
    [runId],
  );
  return run;
};
const actsOf = async (runId: string) =>
  (await db.admin<{ act: string }>("select act from ghouls.end_acts where run_id = $1", [runId])).map(
    ({ act }) => act,
  );
const alter = (runId: string, text = "'{}'") =>
  db.admin(`update ghouls.terminal_records set record_text = ${text} where run_id = $1`, [runId]);

describe("the sealing pass", () => {
  test("seals what ended a minute ago, in its order, into a chain of its tenant, and says so in the log", async () => {
    const first = await ended(3);
    expect(await roundOf(seals)).toEqual([]);
    await due();
    expect(await roundOf(seals)).toEqual([["seal acme", "repaired"]]);
    const second = await ended(1);
    const others = await ended(1, "umbrella");
    await due();
    expect(await roundOf(seals)).toEqual([
      ["seal acme", "repaired"],
      ["seal umbrella", "repaired"],
    ]);
    const [one, two] = await chain();
    expect(membersOf(one?.members_text ?? "")).toEqual(first);
    expect(membersOf(two?.members_text ?? "")).toEqual(second);
    expect(one?.digest).toBe(sha256(`"acme"\n1\n-\n${one?.members_text}`));
    expect(two).toMatchObject({
      previous_digest: one?.digest,
      digest: sha256(`"acme"\n2\n${one?.digest}\n${two?.members_text}`),
    });
    expect((await chain("umbrella")).map(({ members_text }) => membersOf(members_text))).toEqual([others]);
    expect(await db.admin("select from ghouls.end_acts")).toEqual([]);
    expect(
      world.logged.filter(({ message }) => message === "evidence sealed").map(({ fields }) => fields),
    ).toEqual([
      { tenantId: "acme", number: 1, records: 3, digest: one?.digest },
      { tenantId: "acme", number: 2, records: 1, digest: two?.digest },
      { tenantId: "umbrella", number: 1, records: 1, digest: (await chain("umbrella"))[0]?.digest },
    ]);
    expect(await roundOf(seals)).toEqual([]);
  });

  test("has at most 500 records in a seal, and goes on with the next in the same turn", async () => {
    await db.admin(
      `with run as (
         insert into ghouls.runs (tenant_id, run_id, first_run_id, request_digest, workflow_name, workflow_version, workflow_digest,
           queue, priority, requested_by, requested_roles, status, enqueue_seq, input_text, input_digest, created_at, started_at, finished_at)
         select 'acme', id, id, 'r', 'hello', 1, 'hello@1', 'runs', 5, 'user:ada', '{}', 'DONE', 1, '1', ghouls.text_digest('1'), ghouls.clock(),
           ghouls.clock(), ghouls.clock()
         from (select gen_random_uuid() as id from generate_series(1, 620)) as made
         returning tenant_id, run_id, finished_at)
       insert into ghouls.end_acts (tenant_id, run_id, act, ended_at, due_at)
       select tenant_id, run_id, 'seal', finished_at, finished_at from run`,
    );
    // None of them has a record: each is written before its seal.
    expect(await roundOf(seals)).toEqual([["seal acme", "repaired"]]);
    expect((await chain()).map(({ records }) => records)).toEqual([500, 120]);
    expect(await db.admin("select from ghouls.terminal_records")).toHaveLength(620);
    expect((await ledger.evidence.verify("doctor")).faults).toEqual([]);
  });

  test("compares long runs a few at a time, so that many of them hold up nobody", async () => {
    await db.admin(
      `with run as (
         insert into ghouls.runs (tenant_id, run_id, first_run_id, request_digest, workflow_name, workflow_version, workflow_digest,
           queue, priority, requested_by, requested_roles, status, enqueue_seq, input_text, input_digest, created_at, started_at, finished_at, journal_length)
         select 'acme', id, id, 'r', 'hello', 1, 'hello@1', 'runs', 5, 'user:ada', '{}', 'DONE', 1, '1', ghouls.text_digest('1'), t, t, t, length
         from (select gen_random_uuid() as id, length, ghouls.clock() - interval '1 day' + nth * interval '1 second' as t
           from unnest(array[20000, 4000, 4000, 4000, 1, 1]) with ordinality as x(length, nth)) as made
         returning tenant_id, run_id, finished_at)
       insert into ghouls.end_acts (tenant_id, run_id, act, ended_at, due_at)
       select tenant_id, run_id, 'seal', finished_at, finished_at from run`,
    );
    const runIds = await ledger.seals.runsToSeal("acme");
    const slices = await ledger.evidence.slices(runIds.map((runId) => ({ tenantId: "acme", runId })));
    expect(slices.map(({ length }) => length)).toEqual([1, 2, 3]);
    expect(slices.flat().map(({ runId }) => runId)).toEqual(runIds);
    // A turn with little time ends after the first slice, and seals that.
    const turn = { ...LONG_TURN, withinMs: () => 1_000 };
    for (let round = 0; round < 3; round += 1) await roundOf(seals, { turn });
    expect((await chain()).map(({ records }) => records)).toEqual([1, 2, 3]);
    expect((await ledger.evidence.verify("doctor")).faults).toEqual([]);
  });

  test("writes a record that was removed before its seal", async () => {
    const [runId = ""] = await ended(1);
    const before = await db.admin("select record_text from ghouls.terminal_records");
    await db.admin("delete from ghouls.terminal_records");
    await due();
    expect(await roundOf(seals)).toEqual([["seal acme", "repaired"]]);
    expect(await db.admin("select record_text from ghouls.terminal_records")).toEqual(before);
    expect(await faults()).toEqual([]);
    expect((await chain()).map(({ members_text }) => membersOf(members_text))).toEqual([[runId]]);
  });

  test.each([
    ["disagrees with its digest", "'{}'", "its terminal record was altered"],
    [
      "agrees with its digest, and not with its run",
      "'{}', record_digest = ghouls.text_digest('{}')",
      "its terminal record says other things than its rows",
    ],
  ])(
    "quarantines a run whose record %s, leaves the record, and seals the others",
    async (_, change, words) => {
      const [bad = "", good = ""] = await ended(2);
      await alter(bad, change);
      const altered = await db.admin("select * from ghouls.terminal_records where run_id = $1", [bad]);
      await due();
      expect(await roundOf(seals)).toEqual([["seal acme", "repaired"]]);
      expect(await faults()).toMatchObject([
        { check_name: CHECK, run_id: bad, detail: expect.stringContaining(words), stands: true },
      ]);
      const state = await stateOf(bad);
      expect(state).toMatchObject({ status: "FAILED", quarantine_reason: expect.stringContaining(words) });
      expect(await stateOf(good)).toMatchObject({ quarantine_reason: null });
      expect(await db.admin("select * from ghouls.terminal_records where run_id = $1", [bad])).toEqual(
        altered,
      );
      expect((await chain()).map(({ members_text }) => membersOf(members_text))).toEqual([[good]]);
      expect(await actsOf(bad)).toEqual(["doubt"]);
      expect(await roundOf(seals)).toEqual([]);
      expect(world.logged.filter(({ level }) => level === "error")).toMatchObject([
        { fields: { runId: bad } },
      ]);
    },
  );

  test("looks at a run in doubt again: a clear stays, and what agrees again is sealed and its fault gone", async () => {
    const [bad = ""] = await ended(1);
    const [{ record_text: text }] = (await db.admin("select record_text from ghouls.terminal_records")) as [
      { record_text: string },
    ];
    await alter(bad);
    await due();
    await roundOf(seals);
    await ledger.runs.clear({ tenantId: "acme", runId: bad }, { actor: "user:ada", reason: "seen" }, 15);
    await world.advance(3_601);
    expect(await roundOf(seals)).toEqual([[`doubt ${bad}`, "left"]]);
    // The same fault is no news: nobody is overruled.
    expect(await stateOf(bad)).toMatchObject({ quarantine_reason: null });
    expect(await faults()).toMatchObject([{ stands: true }]);
    await db.admin("update ghouls.terminal_records set record_text = $1", [text]);
    expect(await roundOf(seals)).toEqual([]);
    await world.advance(3_601);
    expect(await roundOf(seals)).toEqual([[`doubt ${bad}`, "repaired"]]);
    expect(await faults()).toMatchObject([{ stands: false }]);
    expect(await roundOf(seals)).toEqual([["seal acme", "repaired"]]);
    expect((await chain()).map(({ members_text }) => membersOf(members_text))).toEqual([[bad]]);
  });

  test("of a run whose rows are gone keeps a fault, and holds up no other", async () => {
    const [gone = "", good = ""] = await ended(2);
    await db.admin("delete from ghouls.deliveries where run_id = $1", [gone]);
    await db.admin("delete from ghouls.runs where run_id = $1", [gone]);
    await due();
    expect(await roundOf(seals)).toEqual([["seal acme", "repaired"]]);
    expect(await faults()).toMatchObject([
      { run_id: gone, detail: "its run is not there, or has not ended" },
    ]);
    expect((await chain()).map(({ members_text }) => membersOf(members_text))).toEqual([[good]]);
    expect(await roundOf(seals)).toEqual([]);
  });

  test("finds the good behind a thousand that are bad", async () => {
    const [good = ""] = await ended(1);
    await db.admin(
      `with run as (
         insert into ghouls.runs (tenant_id, run_id, first_run_id, request_digest, workflow_name, workflow_version, workflow_digest,
           queue, priority, requested_by, requested_roles, status, enqueue_seq, input_text, input_digest, created_at, started_at, finished_at)
         select 'acme', id, id, 'r', 'hello', 1, 'hello@1', 'runs', 5, 'user:ada', '{}', 'DONE', 1, '1', ghouls.text_digest('1'), t, t, t
         from (select gen_random_uuid() as id, ghouls.clock() - interval '1 day' as t from generate_series(1, 1000)) as made
         returning tenant_id, run_id, finished_at), record as (
         insert into ghouls.terminal_records (tenant_id, run_id, record_text, record_digest, written_at)
         select tenant_id, run_id, '{}', ghouls.text_digest('{}'), finished_at from run)
       insert into ghouls.end_acts (tenant_id, run_id, act, ended_at, due_at)
       select tenant_id, run_id, 'seal', finished_at, finished_at from run`,
    );
    await due();
    for (let round = 0; round < 3; round += 1) await roundOf(seals);
    expect((await chain()).map(({ members_text }) => membersOf(members_text))).toEqual([[good]]);
    expect(await faults()).toHaveLength(1_000);
  });

  test("of two sealers makes one seal", async () => {
    await ended(3);
    await due();
    const runIds = await ledger.seals.runsToSeal("acme");
    const holder = await db.client("admin");
    const [{ pid }] = (await holder.query<{ pid: number }>("select pg_backend_pid() as pid")).rows as [
      { pid: number },
    ];
    await holder.query("begin");
    await holder.query("select from ghouls.end_acts where run_id = $1 for update", [runIds[0]]);
    const both = [ledger.seals.make("acme", runIds), ledger.seals.make("acme", runIds)];
    await waiting(db, pid);
    await holder.query("commit");
    const made = await Promise.all(both);
    expect(made.filter((seal) => seal !== null)).toMatchObject([{ number: 1, records: 3 }]);
    expect(await chain()).toHaveLength(1);
    expect(await db.admin("select from ghouls.end_acts")).toEqual([]);
  });

  test("of two sealers of other records of one tenant makes one chain", async () => {
    const [one = "", two = ""] = await ended(2);
    await due();
    const made = await Promise.all([ledger.seals.make("acme", [one]), ledger.seals.make("acme", [two])]);
    for (const [index, runId] of [one, two].entries())
      if (made[index] === null) await ledger.seals.make("acme", [runId]);
    expect((await chain()).map(({ number }) => number)).toEqual([1, 2]);
    expect((await ledger.evidence.verify("doctor")).faults).toEqual([]);
  });
});

/** What somebody may have done to evidence behind everybody's back, and what is said of it. */
const TAMPERING: [string, (runIds: readonly string[]) => Promise<unknown>, string, boolean][] = [
  ["a sealed record was altered", ([, run = ""]) => alter(run), "was altered", true],
  [
    "a sealed record was rewritten with its digest",
    ([, run = ""]) => alter(run, "'{}', record_digest = ghouls.text_digest('{}')"),
    "says other things than its rows",
    true,
  ],
  [
    "a sealed record was rewritten together with its rows",
    async ([, run = ""]) => {
      await db.admin("update ghouls.deliveries set outcome = 'done' where run_id = $1", [run]);
      const now = "ghouls.terminal_text(tenant_id, run_id)";
      await alter(run, `${now}, record_digest = ghouls.text_digest(${now})`);
    },
    "was rewritten after it had been sealed",
    true,
  ],
  [
    "a sealed record was removed",
    ([, run = ""]) => db.admin("delete from ghouls.terminal_records where run_id = $1", [run]),
    "is missing",
    true,
  ],
  [
    "rows of a sealed run were altered",
    ([, run = ""]) => db.admin("update ghouls.deliveries set outcome = 'done' where run_id = $1", [run]),
    "says other things than its rows",
    true,
  ],
  [
    "members of a seal were altered",
    () =>
      db.admin("update ghouls.seals set members_text = replace(members_text, '1 ', '7 ') where number = 1"),
    "seal 1 was altered",
    false,
  ],
  [
    "a seal was rewritten with its digest",
    () =>
      db.admin(
        `update ghouls.seals set members_text = split_part(members_text, chr(10), 1), records = 1,
           digest = ghouls.seal_digest(tenant_id, number, previous_digest, split_part(members_text, chr(10), 1)) where number = 1`,
      ),
    "seal 2 does not follow seal 1",
    false,
  ],
  [
    "a seal within the chain was removed",
    () => db.admin("delete from ghouls.seals where number = 1"),
    "seal 2 does not follow seal 1",
    false,
  ],
];

describe("verification", () => {
  const sealed = async () => {
    const runIds = await ended(3);
    await due();
    await roundOf(seals);
    const more = await ended(2);
    await due();
    await roundOf(seals);
    return [...runIds, ...more];
  };
  const rolled = async () => {
    const outcomes: unknown[] = [];
    for (let look = 0; look < 3; look += 1) {
      await checkDue();
      outcomes.push(...(await roundOf(seals)));
    }
    return outcomes;
  };

  test("of evidence that is as it was finds nothing, rolling or whole", async () => {
    await sealed();
    expect(await rolled()).toEqual([
      ["check", "left"],
      ["check", "left"],
      ["check", "left"],
    ]);
    expect(await ledger.evidence.verify("doctor")).toEqual({
      runs: 5,
      records: 5,
      seals: 2,
      pending: 0,
      faults: [],
    });
    expect(await faults()).toEqual([]);
  });

  describe.each(["rolling", "whole"])("%s", (kind) => {
    test.each(TAMPERING)("finds that %s, and goes on with the others", async (_, tamper, words, isOfRun) => {
      const runIds = await sealed();
      await tamper(runIds);
      const before = await db.admin("select * from ghouls.terminal_records order by run_id");
      if (kind === "rolling") await rolled();
      else {
        const report = await ledger.evidence.verify("doctor");
        expect(report.faults.some(({ detail }) => detail.includes(words))).toBe(true);
        expect(report).toMatchObject({ runs: 5 });
      }
      const found = await faults();
      const about = found.filter((fault) => String(fault["detail"]).includes(words));
      expect(about, JSON.stringify(found)).toHaveLength(1);
      expect(about[0]?.["run_id"]).toBe(isOfRun ? runIds[1] : null);
      const quarantined = await db.admin("select run_id from ghouls.runs where quarantined_at is not null");
      expect(quarantined).toEqual(isOfRun ? [{ run_id: runIds[1] }] : []);
      expect(await db.admin("select * from ghouls.terminal_records order by run_id")).toEqual(before);
      // It is found once, however often somebody looks.
      await rolled();
      await ledger.evidence.verify("doctor");
      const again = await faults();
      expect(again.filter((fault) => String(fault["detail"]).includes(words))).toHaveLength(1);
    });
  });

  test.each(["rolling", "whole"])(
    "%s, of a seal that says it has more records than any, ends",
    async (kind) => {
      await sealed();
      await db.admin("update ghouls.seals set records = 2147483647 where number = 1");
      await (kind === "rolling" ? rolled() : ledger.evidence.verify("doctor"));
      expect(await faults()).toMatchObject(
        expect.arrayContaining([
          expect.objectContaining({ subject: "seal 1", detail: "seal 1 has 3 records, not 2147483647" }),
        ]),
      );
    },
  );

  test("whole finds that the end of a chain was removed", async () => {
    await sealed();
    await db.admin("delete from ghouls.seals where number = 2");
    expect((await ledger.evidence.verify("doctor")).faults).toMatchObject([
      {
        subject: "all seals",
        detail: "5 ended runs are sealed, and the seals that are there have 3 records",
      },
    ]);
  });

  test("whole says of an unsealed run that its record is still to be written, and nothing else", async () => {
    await ended(1);
    await db.admin("delete from ghouls.terminal_records");
    expect(await ledger.evidence.verify("doctor")).toEqual({
      runs: 1,
      records: 0,
      seals: 0,
      pending: 1,
      faults: [],
    });
  });

  test("says that a fault is gone when the record agrees again, rolling or whole", async () => {
    const [, run = ""] = await sealed();
    const [{ text }] = (await db.admin(
      "select record_text as text from ghouls.terminal_records where run_id = $1",
      [run],
    )) as [{ text: string }];
    for (const look of [rolled, () => ledger.evidence.verify("doctor")]) {
      await alter(run);
      await look();
      expect((await faults()).filter(({ stands }) => stands === true)).toHaveLength(1);
      await db.admin("update ghouls.terminal_records set record_text = $2 where run_id = $1", [run, text]);
      await look();
      expect((await faults()).filter(({ stands }) => stands === true)).toEqual([]);
    }
  });

  test("rolling goes from seal to seal over all tenants, and begins anew a day after the last", async () => {
    await sealed();
    await ended(1, "umbrella");
    await due();
    await roundOf(seals);
    const visited: unknown[] = [];
    for (let look = 0; look < 5; look += 1) {
      await checkDue();
      visited.push((await ledger.seals.checkNext()).seal);
    }
    expect(visited).toEqual([
      { tenantId: "acme", number: 1 },
      { tenantId: "acme", number: 2 },
      { tenantId: "umbrella", number: 1 },
      null,
      { tenantId: "acme", number: 1 },
    ]);
    expect(await ledger.seals.checkNext()).toEqual({ seal: null, faults: [] });
  });
});
