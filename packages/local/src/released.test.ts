import { expect, test } from "vitest";
import { releasedLines } from "./released.ts";

const pin = (digest: string) => ({ name: "gate", version: 1, digest });
const CODE = { manifest: { "gate@1": "d3" }, accepts: [{ name: "gate", digest: "d2" }] };

test("counts the runs that go on with code that is only kept, once for each digest", async () => {
  const all = () =>
    Promise.resolve([
      { workflow: pin("d0"), bundle: "a", runs: 0 },
      { workflow: pin("d1"), bundle: "b", runs: 2 },
      { workflow: pin("d1"), bundle: "c", runs: 2 },
      { workflow: pin("d2"), bundle: "d", runs: 5 },
      { workflow: pin("d3"), bundle: "e", runs: 7 },
    ]);
  expect(await releasedLines({ releases: { all } }, CODE, "elsewhere")).toEqual([
    "2 runs go on with the code of before, which is kept for that: npx ghouls workflows releases --data-dir elsewhere",
    "  npx ghouls dev replay <run> --data-dir elsewhere   the code of now carries it on instead, checked against its journal",
  ]);
});

test("says nothing where there are none, and why where nobody can tell", async () => {
  const none = { releases: { all: () => Promise.resolve([]) } };
  expect(await releasedLines(none, CODE, ".ghouls")).toEqual([]);
  const away = { releases: { all: () => Promise.reject(new Error("out of reach")) } };
  expect(await releasedLines(away, CODE, ".ghouls")).toEqual([
    "the runs of kept code could not be counted: Error: out of reach",
  ]);
});
