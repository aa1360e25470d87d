/** What is known of a request that names no workflow. */
export interface RoutedRequest {
  readonly input: unknown;
  readonly agent?: string;
}

/** Where it goes; a higher priority is served first. */
export interface Route {
  readonly workflow: string;
  readonly queue?: string;
  readonly priority?: number;
}

/**
 * Chooses by the keys of the input: a lockfile is for the release gate, on the queue of the long rites; a goal is for the
 * agent, and a name is to be greeted. Undefined refuses the request, and the caller is told to name a workflow.
 */
export function route({ input }: RoutedRequest): Route | undefined {
  if (input === null || typeof input !== "object") return undefined;
  if (Object.hasOwn(input, "lockfile")) return { workflow: "release-gate", queue: "rites" };
  if (Object.hasOwn(input, "goal")) return { workflow: "agent" };
  if (Object.hasOwn(input, "name")) return { workflow: "hello" };
  return undefined;
}
