import { expect, test } from "vitest";
import { holds, type PauseTarget } from "./pauses.ts";

const all: PauseTarget = { scope: "all", tenantId: null, workflow: null };
const tenant: PauseTarget = { scope: "tenant", tenantId: "acme", workflow: null };
const workflow: PauseTarget = { scope: "workflow", tenantId: "acme", workflow: "bill" };
const everywhere: PauseTarget = { scope: "workflow", tenantId: null, workflow: "bill" };

test.each([
  ["acme", "bill", [true, true, true, true]],
  ["acme", "ship", [true, true, false, false]],
  ["umbrella", "bill", [true, false, false, true]],
  ["umbrella", "ship", [true, false, false, false]],
])("a run of %s and workflow %s is held by what names it, or names nothing", (tenantId, name, expected) => {
  const run = { tenantId, workflow: name };
  expect([all, tenant, workflow, everywhere].map((pause) => holds(pause, run))).toEqual(expected);
});
