export * from "./client.ts";
export { ProblemError, UnreachableError } from "./errors.ts";
export type { CallOptions, ClientOptions } from "./transport.ts";
