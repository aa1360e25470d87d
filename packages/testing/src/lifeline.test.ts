import { expect, test } from "vitest";
import { Lifeline } from "./lifeline.ts";

function target() {
  const arrived: string[] = [];
  const gate = Promise.withResolvers<void>();
  return {
    arrived,
    gate,
    name: "ledger",
    runs: {
      settle: async (runId: string) => {
        arrived.push(runId);
        await gate.promise;
        return "settled";
      },
    },
  };
}

test("passes calls, their answers and plain values as long as it holds", async () => {
  const ledger = target();
  const through = new Lifeline().through(ledger);
  ledger.gate.resolve();
  expect(through.name).toBe("ledger");
  expect(await through.runs.settle("a")).toBe("settled");
});

test("once it is cut nothing arrives, and of what was sent before no answer comes back", async () => {
  const ledger = target();
  const line = new Lifeline();
  const through = line.through(ledger);
  const sent = through.runs.settle("sent before");
  const { settle } = through.runs;
  line.cut();
  ledger.gate.resolve();
  await expect(sent).rejects.toThrow("this worker was lost by its test");
  await expect(settle("sent after")).rejects.toThrow("this worker was lost by its test");
  expect(ledger.arrived).toEqual(["sent before"]);
});
