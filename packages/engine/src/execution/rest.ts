/** Lets the user's code run until it waits for something: every microtask, and what they start, is over by then. */
export function comeToRest(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A promise with its handles, whose rejection is never unhandled. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

export function deferred<T>(): Deferred<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  // User code may leave a call unawaited; its failure must not end a process that others share.
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}
