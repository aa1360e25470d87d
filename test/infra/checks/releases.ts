import type { Check } from "./check.ts";
import {
  accessBlocks,
  bucketPolicies,
  buckets,
  componentOf,
  functionBehind,
  functions,
  invocations,
  objects,
  waitsFor,
} from "./resources.ts";

/** The preflight proves that they are there, and what a later build has no more is still needed by its runs. */
export const uploads: Check = (graph, { preflight, releases: expected }) => {
  const judged = invocations(graph).find(({ inputs }) => {
    const behind = functionBehind(graph, inputs.functionName);
    return behind !== undefined && componentOf(behind) === preflight;
  });
  const releases = objects(graph).filter(({ inputs }) => inputs.key.startsWith("releases/"));
  return [
    ...(expected === releases.length > 0 ? [] : [`${releases.length} releases of this build are put there`]),
    ...releases
      .filter(({ resource }) => judged !== undefined && !waitsFor(graph, judged.resource, resource))
      .map(({ name }) => `the preflight does not wait for ${name}`),
    ...releases
      .filter(({ resource }) => resource.retainOnDelete !== true)
      .map(({ name }) => `${name} goes with the build after it`),
    ...releases
      .filter(({ inputs }) => !buckets(graph).some((bucket) => bucket.inputs.bucket === inputs.bucket))
      .map(({ name }) => `${name} is put where no bucket is made`),
  ];
};

/** Code that workers run: nobody outside reads it, and nobody on the way. */
export const privacy: Check = (graph) =>
  buckets(graph).flatMap(({ name, inputs: { bucket } }) => {
    const block = accessBlocks(graph).find(({ inputs }) => inputs.bucket === bucket)?.inputs;
    const closed =
      block?.blockPublicAcls === true &&
      block.blockPublicPolicy &&
      block.ignorePublicAcls &&
      block.restrictPublicBuckets;
    const statements = bucketPolicies(graph)
      .filter(({ inputs }) => inputs.bucket === bucket)
      .flatMap(({ inputs }) => inputs.policy);
    const overTls = statements.some(
      ({ Effect, Condition = {} }) =>
        Effect === "Deny" && Condition["Bool"]?.["aws:SecureTransport"]?.includes("false") === true,
    );
    return [
      ...(closed ? [] : [`${name} may be made public`]),
      ...(overTls ? [] : [`${name} is reached without TLS`]),
      ...statements.filter(({ Effect }) => Effect === "Allow").map(() => `${name} lets in by its own policy`),
    ];
  });

/** Those that load or prove releases are told where they lie, and nobody else. */
export const places: Check = (graph, { preflight }) =>
  functions(graph).flatMap(({ name, inputs }) => {
    const told = inputs.environment.variables["GHOULS_RELEASES"];
    const needs = name.startsWith("GhoulsWorker") || name === `${preflight}Function`;
    const bucket = buckets(graph).find((one) => told === `s3://${one.inputs.bucket}/releases`);
    if (needs && bucket === undefined) return [`${name} is not told where releases lie`];
    return !needs && told !== undefined ? [`${name} is told where releases lie, and has no need of it`] : [];
  });
