import type { AnyWorkflow, RegisteredWorkflow } from "@ghouls/core";
import type { Config } from "../config.ts";
import { problemOfBytes } from "../releases/loader.ts";
import { publishReleases, type BundleFile } from "../releases/publishing.ts";
import { openStoreOf, type OpenReleaseStore } from "../releases/store.ts";
import { openRuntime, type Runtime, type RuntimeOverrides } from "../runtime.ts";

/** Bundles workflows by themselves. */
export type MakeBundles = (workflows: readonly AnyWorkflow[]) => Promise<readonly BundleFile[]>;

/**
 * Publishes the code of a configuration where nobody deploys: what of it no release has is made and recorded. Answers how many
 * releases that were; none where GHOULS_RELEASES does not say where they lie.
 */
export function createPublisher(
  config: Config,
  overrides: RuntimeOverrides = {},
): (make: MakeBundles) => Promise<number> {
  return async (make) => {
    const runtime = await openRuntime(config, overrides);
    const store = openStoreOf(runtime);
    try {
      const { ledger, registry, environment } = runtime;
      if (store === undefined) return 0;
      const missing: AnyWorkflow[] = [];
      for (const one of registry.all())
        if (!(await isReleased(one, { ledger, store }))) missing.push(one.definition);
      if (missing.length === 0) return 0;
      return await publishReleases(await make(missing), environment.build, { ledger, store });
    } finally {
      store?.close();
      await runtime.close();
    }
  };
}

async function isReleased(
  { definition: { name }, digest }: RegisteredWorkflow,
  { ledger, store }: Pick<Runtime, "ledger"> & { readonly store: OpenReleaseStore },
): Promise<boolean> {
  const recorded = await ledger.releases.ofPin({ name, digest });
  if (recorded === null || recorded.removedAt !== null) return false;
  const bytes = await store.get(recorded.bundle);
  return bytes !== undefined && problemOfBytes(bytes, recorded.bundle) === undefined;
}
