import { databaseAccess } from "@ghouls/aws";
import { noFaults } from "@ghouls/core";
import { createLowering } from "@ghouls/engine";
import { openLedger } from "@ghouls/ledger";
import { readEnvironment } from "../environment.ts";
import { jsonLogger } from "../logger.ts";
import type { WorkerEnds } from "../processes/worker-ends.ts";
import { processClock } from "../runtime.ts";
import { hintOf } from "../events-table.ts";
import type { WorkerReady } from "./order.ts";

/** The ledger as a supervisor uses it: one connection, opened by the first end of a process. */
export function openEndsLedger(
  variables: Readonly<Record<string, string | undefined>>,
  { schema, hint: hintIsOn }: Pick<WorkerReady, "schema" | "hint">,
  write: (line: string) => void,
): WorkerEnds {
  const environment = readEnvironment(variables, []);
  const { driver, neonProxy } = environment.database;
  const faults = noFaults;
  const hint = hintOf({ reconciler: { hint: hintIsOn } }, environment, { faults });
  const log = jsonLogger(write, () => new Date().toISOString());
  const ledger = openLedger({
    ...databaseAccess(environment.database, { clock: processClock, faults }),
    driver,
    ...(neonProxy === undefined ? {} : { neonProxy }),
    schema,
    maxConnections: 1,
    applicationName: "ghouls-worker-supervisor",
    chance: Math.random,
    answerTimeoutMs: 10_000,
    ...(hint === undefined
      ? {}
      : { beforeOpening: createLowering({ hint, clock: processClock, log, patienceMs: undefined }) }),
  });
  return {
    deliveries: ledger.deliveries,
    close: async () => {
      hint?.close();
      await ledger.close();
    },
  };
}
