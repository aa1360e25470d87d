import { openDynamoEvents, openDynamoHint, type DynamoEvents, type DynamoHint } from "@ghouls/aws";
import { durationMs, type Clock, type FaultInjector } from "@ghouls/core";
import type { Config } from "./config.ts";
import type { Environment } from "./environment.ts";

/** Where the table is that has the events, and beside them the reconciler's hint; undefined where none is known. */
function tableOf({ region, dynamodbEndpoint: endpoint, eventsTable: table }: Environment) {
  return table === undefined ? undefined : { region, table, ...(endpoint === undefined ? {} : { endpoint }) };
}

/** Undefined where it is turned off, or where there is no table for it: then the reconciler connects every time. */
export function hintOf(
  config: Pick<Config, "reconciler">,
  environment: Environment,
  { faults, hintPatienceMs: patienceMs }: { faults: FaultInjector; hintPatienceMs?: number | undefined },
): DynamoHint | undefined {
  const table = tableOf(environment);
  if (!config.reconciler.hint || !environment.hint || table === undefined) return undefined;
  return openDynamoHint({
    ...table,
    faults,
    ...(patienceMs === undefined ? {} : { connectionTimeoutMs: patienceMs, requestTimeoutMs: patienceMs }),
  });
}

/** Undefined where there is no table: whoever looks on has the ledger alone. */
export function eventsOf(
  { codec, events }: Pick<Config, "codec" | "events">,
  environment: Environment,
  parts: { readonly faults: FaultInjector; readonly clock: Clock },
): DynamoEvents | undefined {
  const table = tableOf(environment);
  if (table === undefined) return undefined;
  return openDynamoEvents({ ...table, ...parts, codec, keepMs: durationMs(events.keep) });
}
