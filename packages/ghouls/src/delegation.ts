import { randomBytes } from "node:crypto";
import { openLambdaEgress } from "@ghouls/aws";
import type { Clock, FaultInjector } from "@ghouls/core";
import { createDirectEgress, type Delegation } from "@ghouls/engine";
import type { Config } from "./config.ts";
import type { Environment } from "./environment.ts";

/** A delegation that a process has opened. */
export interface OpenDelegation {
  readonly delegation: Delegation;
  readonly close: () => void;
}

const newToken = (): string => randomBytes(32).toString("base64url");

/**
 * Questions to services leave from the function that GHOULS_EGRESS_FUNCTION names, else from this process. On Lambda no
 * service is at a private address then: the function's own Runtime API listens there.
 */
export function openDelegation(
  { services, egress: { origins } }: Pick<Config, "services" | "egress">,
  environment: Pick<Environment, "egressFunction" | "endpoint" | "onLambda" | "publicUrl" | "region">,
  { clock, faults }: { readonly clock: Clock; readonly faults: FaultInjector },
): OpenDelegation {
  const { egressFunction, endpoint, onLambda, publicUrl, region } = environment;
  if (egressFunction === undefined) {
    const egress = createDirectEgress({ services, origins: onLambda ? [] : origins, faults });
    return { delegation: { services, egress, publicUrl, newToken }, close: () => undefined };
  }
  const egress = openLambdaEgress({
    region,
    ...(endpoint === undefined ? {} : { endpoint }),
    function: egressFunction,
    clock,
    faults,
  });
  return { delegation: { services, egress, publicUrl, newToken }, close: () => egress.close() };
}
