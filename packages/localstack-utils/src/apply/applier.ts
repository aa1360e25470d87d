import type { Resource } from "../record/graph.ts";
import type { Clients } from "../clients.ts";
import type { Inputs } from "./inputs.ts";

/** What the endpoint holds of a resource: enough to change and to remove it. */
export interface Made {
  readonly urn: string;
  readonly type: string;
  /** What the endpoint calls it. */
  readonly keys: Readonly<Record<string, string>>;
  /** Attributes of the graph with the endpoint's values, where they differ. */
  readonly state: Readonly<Record<string, string>>;
}

interface Question {
  readonly clients: Clients;
  readonly resource: Resource;
  /** The resource's inputs in the endpoint's words. */
  readonly inputs: Inputs;
  /** What an earlier deploy made of it. */
  readonly earlier: Made | undefined;
  /** The bytes of an object by its key: a function's code in the asset bucket, or a release. */
  readonly code: (key: string) => Promise<Uint8Array>;
  /** Waited for as soon as the thing is there, before a further call that may fail: what is there can be removed. */
  readonly began: (keys: Made["keys"]) => Promise<void>;
}

/** How one type of resource is brought to the endpoint. */
export interface Applier {
  /** Makes it, or brings it up to date. */
  apply(question: Question): Promise<Pick<Made, "keys" | "state">>;
  /** Removes it. One that has gone already is no error. */
  remove(made: Made, clients: Clients): Promise<void>;
}

/** A resource that needs no removal of its own: it goes with another. */
export const goesAlong = (): Promise<void> => Promise.resolve();

/** Whether an error of an SDK says that the thing is not there. */
export function isAbsent(error: unknown): boolean {
  return error instanceof Error && /NotFound|NonExistent|DoesNotExist|NoSuchEntity|404/.test(error.name);
}

/** Removes, where it is there. */
export async function removed(removal: Promise<unknown>): Promise<void> {
  try {
    await removal;
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
}
