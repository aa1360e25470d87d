/**
 * Tells when a durable wait is given to Promise.race or Promise.any, and when it is awaited. All look at the `constructor` of what
 * they are given: who looks is in the stack. V8 names its own functions there as "Promise.race (<anonymous>)".
 */
export function guardAgainstRace<T>(
  promise: Promise<T>,
  onRace: (how: string) => void,
  onAwait: () => void,
): Promise<T> {
  return Object.defineProperty(promise, "constructor", {
    get: () => {
      const how = racingNow();
      if (how === undefined) onAwait();
      else onRace(how);
      return Promise;
    },
  });
}

function racingNow(): string | undefined {
  const { stackTraceLimit } = Error;
  // The code of a run may have set it to nothing.
  Error.stackTraceLimit = 6;
  const { stack } = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  return typeof stack === "string"
    ? /at (Promise\.(?:race|any)) \(<anonymous>\)/.exec(stack)?.[1]
    : undefined;
}
