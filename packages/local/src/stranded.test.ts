import { expect, test } from "vitest";
import type { StrandedRuns } from "./parts.ts";
import { strandedLines } from "./stranded.ts";

const workflow = { name: "gate", version: 1, digest: "0123456789abcdef" };
const NO_CODE = { manifest: {}, accepts: [] };
const asked: unknown[] = [];

function ledgerWith(found: Partial<StrandedRuns> | Error) {
  const stranded = (...question: unknown[]): Promise<StrandedRuns> => {
    asked.push(question);
    return found instanceof Error ? Promise.reject(found) : Promise.resolve({ runs: [], count: 0, ...found });
  };
  return { runs: { stranded, openOfPins: () => Promise.resolve([]) } };
}

test("each run is named with what it waits in, and what may become of it with the commands", async () => {
  const runs = [
    { runId: "run-1", status: "AWAITING_CONSENT", workflow },
    { runId: "run-2", status: "QUEUED", workflow },
  ];
  const lines = await strandedLines(
    ledgerWith({ runs, count: 7 }),
    { manifest: { "gate@1": "new" }, accepts: [{ name: "gate", digest: "old" }] },
    "/else where",
  );
  expect(asked).toEqual([
    [
      "default",
      [
        { name: "gate", version: 1, digest: "new" },
        { name: "gate", digest: "old" },
      ],
      5,
    ],
  ]);
  expect(lines).toEqual([
    "7 runs are of code that is not here any more; what becomes of each is yours to say:",
    "  run-1  gate@1 (01234567…)  AWAITING_CONSENT",
    "  run-2  gate@1 (01234567…)  QUEUED",
    "  and 5 more: npx ghouls runs --data-dir '/else where'",
    expect.stringMatching(/^ {2}npx ghouls dev replay <run> --data-dir '\/else where' {3}the code of now /),
    expect.stringMatching(/^ {2}npx ghouls dev restart <run> /),
    expect.stringMatching(/^ {2}npx ghouls dev discard <run> /),
  ]);
  const [one, ...rest] = await strandedLines(
    ledgerWith({ runs: runs.slice(1), count: 1 }),
    NO_CODE,
    ".ghouls",
  );
  expect(one).toMatch(/^1 run is of code that is not here any more/);
  expect(rest[1]).toMatch(/^ {2}npx ghouls dev replay <run> {3}/);
});

test("where there is none nothing is said, and a ledger that cannot be asked stops nothing", async () => {
  expect(await strandedLines(ledgerWith({}), NO_CODE, ".ghouls")).toEqual([]);
  expect(await strandedLines(ledgerWith(new Error("out of reach")), NO_CODE, ".ghouls")).toEqual([
    "the runs of other code could not be looked for: Error: out of reach",
  ]);
});
