import type { Ledger } from "@ghouls/ledger";
import type { Registry } from "./registry.ts";

export interface AnnouncementOptions {
  readonly ledger: Pick<Ledger, "workflows">;
  readonly registry: Registry;
  /** Name of this build, for people. */
  readonly build: string;
}

/**
 * Says in the ledger which workflows this build has, once for a process: another build that meets a run of one of them
 * then gives it back instead of failing it (design.md §3, Claim). One that failed is tried again by the next call.
 */
export function createAnnouncement({ ledger, registry, build }: AnnouncementOptions): () => Promise<void> {
  let announced: Promise<void> | undefined;
  return () => {
    announced ??= ledger.workflows.record(registry.pins(), build).catch((error: unknown) => {
      announced = undefined;
      throw error;
    });
    return announced;
  };
}
