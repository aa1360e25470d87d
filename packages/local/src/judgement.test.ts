import { resolve } from "node:path";
import { expect, test } from "vitest";
import type { IntegrityFault, Judgement } from "@ghouls/core";
import { SOUND } from "./fake-parts.support.ts";
import { refuseUnsound } from "./judgement.ts";

const FAULT: IntegrityFault = {
  faultId: "7a1e2d3c-4b5a-4978-8695-a4b3c2d1e0f3",
  check: "journals are as long as their runs say",
  tenantId: "default",
  runId: "r1",
  subject: "r1",
  detail: "{}",
  foundAt: new Date(0),
  foundBy: "host",
  seenAt: new Date(0),
  goneAt: null,
  quarantine: "made",
  acknowledged: null,
};

async function refuse(judged: Judgement, dataDir = resolve(".ghouls"), schema = "ghouls") {
  const printed: string[] = [];
  const asked: unknown[] = [];
  const judge = (options: object) => {
    asked.push(options);
    return Promise.resolve(judged);
  };
  const options = { dataDir, schema, print: (line: string) => void printed.push(line) };
  const refusal = await refuseUnsound({ integrity: { judge } }, options).then(
    () => undefined,
    (error: unknown) => error as { code: string; message: string; fix: string; issues: unknown },
  );
  return { refusal, printed, asked };
}

test("a sound ledger is started on, and so is one whose faults somebody knows of, without a word", async () => {
  expect(await refuse(SOUND)).toEqual({ refusal: undefined, printed: [], asked: [{ by: "host" }] });
  const acknowledged = {
    count: 1,
    first: [{ ...FAULT, acknowledged: { by: "a", reason: "b", at: new Date(0) } }],
  };
  expect(await refuse({ ...SOUND, acknowledged })).toMatchObject({ refusal: undefined, printed: [] });
});

test("one with a fault that nobody knows of is not: the table, each fault, and the command of this folder and schema", async () => {
  const judged = {
    ...SOUND,
    states: [{ status: "QUEUED", runs: 1, checked: 0, faulty: 1 }],
    refused: { count: 2, first: [FAULT] },
  } as const;
  const { refusal, printed } = await refuse(judged);
  expect(printed.slice(0, 2)).toEqual(["STATUS  RUNS  CHECKED  FAULTY", "QUEUED     1        0       1"]);
  expect(refusal).toMatchObject({
    code: "integrity_fault",
    message:
      "the ledger contradicts itself, so nothing is started: not so: journals are as long as their runs say (r1)",
    issues: [
      { path: FAULT.faultId, message: "not so: journals are as long as their runs say (r1): {}" },
      { path: "…", message: "and 1 more" },
    ],
  });
  expect(refusal?.fix).toContain(
    'npx ghouls doctor --acknowledge <fault> --reason "<why>"; then start again.',
  );
  const other = await refuse(judged, "/data/x", "dungeon");
  expect(other.refusal?.fix).toContain(
    "npx ghouls doctor --data-dir /data/x --schema dungeon --acknowledge <fault>",
  );
});
