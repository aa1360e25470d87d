export { runDev } from "./dev.ts";
export type { DevOptions } from "./dev.ts";
export { openStoppedDatabase, type StoppedDatabase } from "./stopped-database.ts";
export { startHost } from "./host.ts";
export type { Host, HostOptions } from "./host.ts";
export type { Example, HostLedger, LedgerParts, LoadedConfig, Parts } from "./parts.ts";
