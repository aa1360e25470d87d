/** One listener for the process, however many handlers it has. */
let controller: AbortController | undefined;

/**
 * Fires when this process was told to end (SIGTERM): workers claim nothing more, and their hops hand over at the next
 * step.
 */
export function drainSignal(): AbortSignal {
  if (controller === undefined) {
    const made = new AbortController();
    process.once("SIGTERM", () => made.abort(new DOMException("the process is about to end", "AbortError")));
    controller = made;
  }
  return controller.signal;
}
