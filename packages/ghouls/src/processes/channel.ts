import { Worker } from "node:worker_threads";

/** The child's side of its channel to the host. */

/** Tells the host something; silent where the host is gone. */
export function tell(message: object): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

/** Tells the host why this process cannot start, and ends it. */
export function fail(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const fix = typeof error === "object" && error !== null && "fix" in error ? error.fix : undefined;
  process.exitCode = 1;
  if (!process.connected) return;
  process.send?.({ type: "failed", message, fix }, undefined, undefined, () => process.exit(1));
}

/** Calls `end` when the host has gone: its channel breaks even where it was killed. */
export function onHostGone(end: () => void): void {
  process.once("disconnect", end);
  if (!process.connected) end();
}

/** Ends this process with its host even while its own loop is blocked. */
export function endWithHost(): void {
  const watch = `
    const host = ${process.ppid};
    setInterval(() => { if (process.ppid !== host) process.kill(process.pid, "SIGKILL"); }, 500);`;
  new Worker(watch, { eval: true, stdin: false }).unref();
  onHostGone(() => process.kill(process.pid, "SIGKILL"));
}

/** A signal meant for the whole terminal is the host's to answer. */
export function leaveSignalsToHost(): void {
  process.on("SIGINT", () => undefined);
  // To a worker it says: hand over. Whoever listens does so; it ends nothing by itself.
  process.on("SIGTERM", () => undefined);
}
