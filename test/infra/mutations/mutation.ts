import { isDeepStrictEqual } from "node:util";
import type { CheckName } from "../checks/all.ts";
import type { Expected } from "../checks/check.ts";
import type { Graph, Json, JsonObject, Resource } from "@ghouls/localstack-utils";
import type { VariantName } from "../variants.ts";

/** A setting broken: the check must speak, and no other one. */
export interface Mutation {
  readonly check: CheckName;
  readonly what: string;
  /** The plain one by default. */
  readonly of?: VariantName;
  readonly change: (graph: Graph) => Graph;
  /** Where somebody has written the change down as wanted, and another rule still forbids it. */
  readonly expect?: (expected: Expected) => Expected;
}

/** A logical name, or the first of those that look like this: SST ends some names in letters of its own. */
export type Name = string | RegExp;

function find(graph: Graph, name: Name): Resource {
  const named = (one: Resource) => (typeof name === "string" ? one.name === name : name.test(one.name));
  const found = graph.resources.find((one) => one.custom && named(one));
  if (found === undefined) throw new Error(`${name} is not there`);
  return found;
}

/** Changes one resource. @throws Error where that changes nothing: a mutation that misses proves nothing */
export function resource(name: Name, change: (resource: Resource) => Resource) {
  return (graph: Graph): Graph => {
    const found = find(graph, name);
    const changed = change(found);
    if (isDeepStrictEqual(changed, found)) throw new Error(`${name} is the same as before`);
    return { ...graph, resources: graph.resources.map((one) => (one === found ? changed : one)) };
  };
}

/** Sets inputs of one resource. */
export function inputs(name: Name, set: JsonObject) {
  return resource(name, (one) => ({ ...one, inputs: { ...one.inputs, ...set } }));
}

/** Leaves inputs of one resource out. */
export function inputsWithout(name: Name, ...keys: readonly string[]) {
  return resource(name, (one) => ({
    ...one,
    inputs: Object.fromEntries(Object.entries(one.inputs).filter(([key]) => !keys.includes(key))),
  }));
}

/** Rewrites the JSON of an input, such as a policy. */
export function text(name: Name, from: string, to: string) {
  return resource(name, (one) => ({
    ...one,
    inputs: JSON.parse(JSON.stringify(one.inputs).replaceAll(from, to)) as JsonObject,
  }));
}

/** Adds a statement to a role's own policy. */
export function statement(role: string, added: JsonObject) {
  return resource(role, (one) => {
    const policies = (one.inputs["inlinePolicies"] ?? []) as readonly Json[];
    const policy = JSON.stringify({ Version: "2012-10-17", Statement: [added] });
    return { ...one, inputs: { ...one.inputs, inlinePolicies: [...policies, { name: "added", policy }] } };
  });
}

/** Sets a variable of a function. */
export function variable(fn: string, name: string, value: string) {
  return resource(fn, (one) => {
    const { variables } = one.inputs["environment"] as { variables: JsonObject };
    return { ...one, inputs: { ...one.inputs, environment: { variables: { ...variables, [name]: value } } } };
  });
}

/** Takes a resource away. */
export function without(name: Name) {
  return (graph: Graph): Graph => {
    const found = find(graph, name);
    return { ...graph, resources: graph.resources.filter((one) => one !== found) };
  };
}

/** Adds a resource that nothing waits for, and which waits for all others: it comes when a deploy is over. */
export function added(type: string, name: string, set: JsonObject, state: JsonObject = {}) {
  return (graph: Graph): Graph => {
    const urn = `urn:pulumi:test::ghouls::${type}::${name}`;
    const dependsOn = graph.resources.map((other) => other.urn);
    const one = { urn, type, name, custom: true, dependsOn, inputs: set, secrets: [], state };
    return { ...graph, resources: [...graph.resources, one] };
  };
}

/** Takes what one resource waits for away. */
export function waitsForNo(name: string, other: string) {
  return resource(name, (one) => ({
    ...one,
    dependsOn: one.dependsOn.filter((urn) => !urn.endsWith(`::${other}`)),
  }));
}

/** Lets a resource wait for nothing. */
export function waitsForNothing(name: Name) {
  return resource(name, (one) => ({ ...one, dependsOn: [] }));
}

/** One change after the other. */
export function all(...changes: readonly ((graph: Graph) => Graph)[]) {
  return (graph: Graph): Graph => changes.reduce((changed, change) => change(changed), graph);
}
