import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Clients } from "../clients.ts";
import type { Graph, Resource } from "../record/graph.ts";
import type { Made } from "./applier.ts";
import { Inputs } from "./inputs.ts";
import { inOrder } from "./order.ts";
import { Substitutions } from "./substitutions.ts";
import { OBJECT } from "./buckets.ts";
import { APPLIERS, isNothing } from "./types.ts";

export interface ApplyOptions {
  readonly clients: Clients;
  /** Folder that the assets of the graph are named from. */
  readonly root: string;
  /** What an earlier deploy has made. */
  readonly earlier?: readonly Made[];
  /** Told of each resource as it is made, so that what was made is known even where a later one fails. */
  readonly onMade: (made: Made) => Promise<void> | void;
}

/** What is at the endpoint after a deploy. */
export interface Applied {
  readonly made: readonly Made[];
  /** The outputs of the program in the endpoint's words. */
  readonly outputs: Graph["outputs"];
}

/**
 * Brings a recorded graph to an endpoint, one resource after the other in the order that Pulumi would keep, and removes
 * what an earlier deploy made and this graph has no more.
 * @throws Error where the endpoint refuses, a step of the deploy fails, or a type is new
 */
export async function applyGraph(graph: Graph, options: ApplyOptions): Promise<Applied> {
  refuseUnknown(graph.resources);
  const { clients, root, onMade } = options;
  const earlier = new Map((options.earlier ?? []).map((made) => [made.urn, made]));
  const words = new Substitutions();
  const code = assetReader(graph, root);
  const made: Made[] = [];
  for (const resource of inOrder(graph.resources)) {
    const applier = APPLIERS[resource.type];
    if (applier === undefined) continue;
    const { urn, type } = resource;
    const { keys, state } = await applier.apply({
      clients,
      resource,
      inputs: new Inputs(resource.name, words.apply(resource.inputs)),
      earlier: earlier.get(resource.urn),
      code,
      began: async (known) => onMade({ urn, type, keys: known, state: {} }),
    });
    for (const [name, value] of Object.entries(state)) words.add(resource.state[name], value);
    const one = { urn, type, keys, state };
    made.push(one);
    earlier.delete(urn);
    await onMade(one);
  }
  await removeMade([...earlier.values()], clients);
  return { made, outputs: words.apply(graph.outputs) };
}

/** What could not be removed. */
export class NotRemoved extends AggregateError {
  readonly left: readonly Made[];

  constructor(left: readonly Made[], errors: readonly Error[]) {
    const words = errors.map((error, index) => `${left[index]?.urn}: ${error.message}`);
    super(errors, `${left.length} resources could not be removed:\n${words.join("\n")}`);
    this.left = left;
  }
}

/**
 * Removes what a deploy has made, the last first. One that cannot be removed does not keep the others.
 * @throws NotRemoved
 */
export async function removeMade(made: readonly Made[], clients: Clients): Promise<void> {
  const left: Made[] = [];
  const errors: Error[] = [];
  for (const one of made.toReversed()) {
    try {
      await APPLIERS[one.type]?.remove(one, clients);
    } catch (error) {
      left.unshift(one);
      errors.unshift(error instanceof Error ? error : new Error(String(error)));
    }
  }
  if (left.length > 0) throw new NotRemoved(left, errors);
}

function refuseUnknown(resources: readonly Resource[]): void {
  const unknown = resources.filter(
    ({ type, external }) => external !== true && APPLIERS[type] === undefined && !isNothing(type),
  );
  if (unknown.length === 0) return;
  const types = [...new Set(unknown.map(({ type }) => type))].join(", ");
  throw new Error(`the graph has types that no applier knows: ${types}. Add them to apply/types.ts.`);
}

/** Reads what the graph puts into a bucket, by its key. */
function assetReader(graph: Graph, root: string): (key: string) => Promise<Uint8Array> {
  const paths = new Map(
    graph.resources
      .filter(({ type }) => type === OBJECT)
      .map(({ inputs }) => [inputs["key"], (inputs["source"] as { $asset?: string }).$asset]),
  );
  return async (key) => {
    const path = paths.get(key);
    if (path === undefined) throw new Error(`the graph has no code ${key}`);
    return readFile(resolve(root, path));
  };
}
