import { setTimeout as delay } from "node:timers/promises";

/** Lets the user's code run until it waits for something: every microtask, and what they start, is over by then. */
export function comeToRest(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A few milliseconds: time for what is under way outside of this thread. */
export function briefly(): Promise<void> {
  return delay(5);
}

/** Whether files are being read: code that is loaded, say. */
export function readsFiles(): boolean {
  return process.getActiveResourcesInfo().some((kind) => kind.startsWith("FSReq"));
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
