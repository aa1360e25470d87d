import type { AnyWorkflow, RegisteredWorkflow } from "@ghouls/core";
import type { Config } from "../config.ts";
import { problemOfBytes } from "../releases/loader.ts";
import { publishReleases, type BundleFile } from "../releases/publishing.ts";
import { openStoreOf, type OpenReleaseStore } from "../releases/store.ts";
import { openRuntime, type Runtime, type RuntimeOverrides } from "../runtime.ts";

/** Bundles workflows by themselves. */
export type MakeBundles = (workflows: readonly AnyWorkflow[]) => Promise<readonly BundleFile[]>;

/**
 * Publishes the code of a configuration where nobody deploys: what of it no release has is made, and all of it recorded. Answers how many
 * of them the ledger did not know; none where GHOULS_RELEASES does not say where they lie.
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
      const known: BundleFile[] = [];
      for (const one of registry.all()) {
        const released = await releasedAs(one, { ledger, store });
        if (released === undefined) missing.push(one.definition);
        else known.push(released);
      }
      const made = missing.length === 0 ? [] : await make(missing);
      // All of it at once: what is not of the last publication counts as replaced.
      return await publishReleases([...known, ...made], environment.build, { ledger, store });
    } finally {
      store?.close();
      await runtime.close();
    }
  };
}

async function releasedAs(
  { definition: { name }, digest }: RegisteredWorkflow,
  { ledger, store }: Pick<Runtime, "ledger"> & { readonly store: OpenReleaseStore },
): Promise<BundleFile | undefined> {
  const recorded = await ledger.releases.ofPin({ name, digest });
  if (recorded === null || recorded.removedAt !== null) return undefined;
  const { bundle } = recorded;
  const bytes = await store.get(bundle);
  return bytes === undefined || problemOfBytes(bytes, bundle) !== undefined ? undefined : { bundle, bytes };
}
