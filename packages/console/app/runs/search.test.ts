import { describe, expect, it } from "vitest";
import { meaningOf, queryOf, runSearch } from "./search.ts";

describe("the filters of the list", () => {
  it("reads what an address says, and leaves out what is no filter", () => {
    expect(
      runSearch({
        status: ["DONE", "NONSENSE"],
        label: "team:payments",
        hours: 24,
        attention: true,
        workflow: "hello",
      }),
    ).toEqual({
      status: ["DONE"],
      label: ["team:payments"],
      hours: 24,
      attention: true,
      workflow: "hello",
    });
    expect(
      runSearch({ status: 7, label: ["no label"], hours: "24", attention: "yes", workflow: "" }),
    ).toEqual({});
  });

  it("asks the API for the same", () => {
    const now = Date.parse("2030-01-31T12:00:00Z");
    expect(queryOf({ label: ["team:a:b"], hours: 1, parent: "p" }, now)).toEqual({
      labels: { team: "a:b" },
      admittedAfter: "2030-01-31T11:00:00.000Z",
      parentRunId: "p",
    });
  });

  it.each([
    [
      " 0193E2A0-0000-7000-8000-000000000000 ",
      { kind: "run", runId: "0193e2a0-0000-7000-8000-000000000000" },
    ],
    ["team:payments", { kind: "label", label: "team:payments" }],
    ["release-gate", { kind: "workflow", workflow: "release-gate" }],
    ["<b>", undefined],
  ])("takes %s for what it is", (text, meaning) => {
    expect(meaningOf(text)).toEqual(meaning);
  });
});
