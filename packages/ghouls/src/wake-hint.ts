import { openDynamoHint, type DynamoHint } from "@ghouls/aws";
import type { FaultInjector } from "@ghouls/core";
import type { Environment } from "./environment.ts";

/** Undefined where it is turned off, or where there is no table for it: then the reconciler connects every time. */
export function hintOf(
  config: { readonly reconciler: { readonly hint: boolean } },
  environment: Environment,
  { faults, hintPatienceMs: patienceMs }: { faults: FaultInjector; hintPatienceMs?: number | undefined },
): DynamoHint | undefined {
  const { region, dynamodbEndpoint: endpoint, eventsTable } = environment;
  if (!config.reconciler.hint || eventsTable === undefined) return undefined;
  return openDynamoHint({
    region,
    ...(endpoint === undefined ? {} : { endpoint }),
    table: eventsTable,
    faults,
    ...(patienceMs === undefined ? {} : { connectionTimeoutMs: patienceMs, requestTimeoutMs: patienceMs }),
  });
}
