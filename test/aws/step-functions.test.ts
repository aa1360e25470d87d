import { describe, inject } from "vitest";
import { testCluster } from "../support/cluster.ts";
import { diggingTests } from "../support/digging.ts";

const emulator = inject("emulator");

describe.skipIf(emulator === null)("at an emulator of AWS", async () => {
  if (emulator !== null) await diggingTests(emulator, (await testCluster()).db);
});
