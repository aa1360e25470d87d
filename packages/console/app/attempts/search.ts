import { statesOf, type AttemptStatus } from "@ghouls/core";

const ATTEMPT_STATES: readonly AttemptStatus[] = statesOf("attempt");
export type AttemptShow = "uncertain" | "all" | AttemptStatus;

/** Which jobs are listed, as it stands in the address: those that nobody knows of where it says nothing. */
export function attemptSearch(given: Record<string, unknown>): { readonly show?: AttemptShow } {
  const { show } = given;
  if (show === "all") return { show };
  const status = ATTEMPT_STATES.find((each) => each === show);
  return status === undefined || status === "UNCERTAIN" ? {} : { show: status };
}
