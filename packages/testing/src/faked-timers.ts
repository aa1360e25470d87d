import { GhoulsError } from "@ghouls/core";

/**
 * Database and engine need real timers, and would stand still for ever without.
 * @throws GhoulsError invalid_request where they are faked, as vitest, jest and sinon do it
 */
export function refuseFakedTimers(): void {
  if (![setTimeout, setImmediate].some((timer) => Object.hasOwn(timer, "clock"))) return;
  throw new GhoulsError(
    "invalid_request",
    "the timers of this process are faked, so nothing can be waited for",
    {
      fix: 'Leave them as they are: ghouls.clock moves the time of runs. For Date alone, write vi.useFakeTimers({ toFake: ["Date"] }).',
    },
  );
}
