import type { Check } from "./check.ts";
import { allQueues, buckets, tables } from "./resources.ts";

/** Events and hints are short-lived: without an expiry the table grows for ever. */
export const expiry: Check = (graph) =>
  tables(graph)
    .filter(({ inputs: { ttl } }) => ttl?.enabled !== true || !ttl.attributeName)
    .map(({ name }) => `${name} expires nothing`);

/** What `sst remove` would take with it. */
export const removal: Check = (graph) => {
  const { stage, removal: policy, protect = false } = graph.app;
  const production = stage === "production";
  const kept = [...tables(graph), ...allQueues(graph), ...buckets(graph)];
  return [
    ...(policy === (production ? "retain" : "remove") ? [] : [`${stage} would ${policy} what it has`]),
    ...(protect === production ? [] : [`${stage} is ${protect ? "" : "not "}protected from removal`]),
    ...kept
      .filter(({ resource }) => (resource.retainOnDelete ?? false) !== production)
      .map(({ name }) => `${name} of ${stage} would be ${production ? "removed" : "left behind"}`),
    ...tables(graph)
      .filter(({ inputs }) => inputs.deletionProtectionEnabled !== production)
      .map(({ name }) => `${name} of ${stage} is ${production ? "not " : ""}protected from deletion`),
  ];
};
