import { describe, expect, inject, test } from "vitest";
import { deployedCloud } from "./cloud.ts";

describe.skipIf(inject("emulator") === null)("deployed", () => {
  const cloud = deployedCloud();

  test("hello", async () => {
    const { runId } = await cloud.submit("hello", { name: "Ada" });
    const view = await cloud.ended(runId, "DONE");
    expect(view.output).toBe("Good evening, Ada.");
  });
});
