export * from "./client.ts";
export { ProblemError, UnreachableError } from "./errors.ts";
export type { FollowOptions } from "./follow.ts";
export type * from "./queries.ts";
export { RunEndedError, type Run } from "./run.ts";
export type { InputOf, NamedWorkflows, OutputOf } from "./workflows.ts";
export type { CallOptions, ClientOptions } from "./transport.ts";
