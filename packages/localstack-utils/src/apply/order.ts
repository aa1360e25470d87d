import type { Resource } from "../record/graph.ts";

/**
 * Resources so that each comes after all that it waits for; those that wait for nothing keep their order.
 * @throws Error for a cycle, which Pulumi would refuse too
 */
export function inOrder(resources: readonly Resource[]): Resource[] {
  const byUrn = new Map(resources.map((resource) => [resource.urn, resource]));
  const ordered: Resource[] = [];
  const state = new Map<string, "open" | "done">();
  const visit = (resource: Resource): void => {
    const seen = state.get(resource.urn);
    if (seen === "done") return;
    if (seen === "open") throw new Error(`${resource.urn} waits for itself`);
    state.set(resource.urn, "open");
    for (const urn of resource.dependsOn) {
      const needed = byUrn.get(urn);
      if (needed !== undefined) visit(needed);
    }
    state.set(resource.urn, "done");
    ordered.push(resource);
  };
  for (const resource of resources) visit(resource);
  return ordered;
}
