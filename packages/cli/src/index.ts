export type { Diagnosis, Io, LedgerTools, LocalHost } from "./io.ts";
export { run } from "./program.ts";
