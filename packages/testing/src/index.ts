export type { Actor } from "./actor.ts";
export { RunFailedError, RunWaitsError } from "./errors.ts";
export type { ScriptedJob } from "./jobs.ts";
export type { PublishedMessage, QueueControls } from "./queue.ts";
export type { DecideOptions, JournaledCall, SignalOptions, TestRun } from "./run.ts";
export type { ScriptOptions, ScriptedConsent, ScriptedSignal } from "./script.ts";
export type { StreamedChunk } from "./streamed.ts";
export type { StartOptions } from "./start-options.ts";
export { startGhouls, type SubmitOptions, type TestClock, type TestGhouls } from "./start.ts";
