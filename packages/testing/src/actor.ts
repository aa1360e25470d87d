import type { Principal } from "@ghouls/core";

/** Somebody of the test's tenant. */
export interface Actor {
  /** Such as "user:ada": what a consent's deciders may name. */
  readonly subject: string;
  /** Such as ["legal"], which is "role:legal" among a consent's deciders. */
  readonly roles?: readonly string[];
}

export function principalOf(tenantId: string, { subject, roles = [] }: Actor): Principal {
  return { tenantId, subject, roles };
}
