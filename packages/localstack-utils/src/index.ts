export { applyGraph, removeMade, type Applied, type ApplyOptions } from "./apply/apply.ts";
export type { Made } from "./apply/applier.ts";
export { openClients, type Clients } from "./clients.ts";
export { readLogs } from "./logs.ts";
export { bundle } from "./record/bundle.ts";
export { answerRpc } from "./record/command-server.ts";
export type { Graph, Json, JsonObject, Resource } from "./record/graph.ts";
export { placeOf, recordGraph, recorderCall, type RecordOptions } from "./record/record.ts";
export { down, up, type Stack, type StackOptions, type UpOptions } from "./stack.ts";
