import { briefly, readsFiles } from "./rest.ts";

/** Code of which every branch seems to stand in a durable wait. */
export interface StandingCode {
  /** Whether it stands still. */
  still(): boolean;
  /** How many calls it has asked for. */
  asked(): number;
  /** Whether it has asked for all that earlier hops left standing. */
  hasAll(): boolean;
  nowMs(): number;
  /** How long it must have asked for nothing new. */
  readonly restMs: number;
  /** For how long code that is being loaded, or has not asked for all yet, is waited for. */
  readonly patienceMs: number;
}

/**
 * Whether the code stands until something outside of it happens. A branch may wait for a module that this process does not
 * have yet, which nothing tells for certain: it gets a little time, and as much as a replay where there is reason to think
 * so.
 */
export async function standsStill(code: StandingCode): Promise<boolean> {
  if (!code.still()) return false;
  const patientUntil = code.nowMs() + code.patienceMs;
  let [asked, since] = [code.asked(), code.nowMs()];
  for (;;) {
    await briefly();
    if (!code.still()) return false;
    if (asked !== code.asked()) [asked, since] = [code.asked(), code.nowMs()];
    if (code.nowMs() < since + code.restMs) continue;
    if (code.nowMs() >= patientUntil || (code.hasAll() && !readsFiles())) return true;
  }
}
