import {
  canonicalText,
  describeFailure,
  errorInLog,
  parseRelease,
  sha256OfBytes,
  sha256,
  workflowKey,
  type AnyWorkflow,
  type Logger,
  type Release,
  type WorkflowPin,
} from "@ghouls/core";
import { Registry, type FoundRelease, type LoadedRelease, type Releases } from "@ghouls/engine";
import type { Ledger, RecordedRelease } from "@ghouls/ledger";
import { importRelease } from "./module.ts";
import type { OpenReleaseStore } from "./store.ts";

export interface ReleasesOptions {
  readonly ledger: { readonly releases: Pick<Ledger["releases"], "ofPin"> };
  /** Undefined where this process was told of none. */
  readonly store: Pick<OpenReleaseStore, "get" | "place"> | undefined;
  readonly log: Logger;
}

/** Loads code that this build lacks, each release once in the life of this process. */
export function createReleases({ ledger, store, log }: ReleasesOptions): Releases {
  const loaded = new Map<string, Promise<FoundRelease>>();
  return {
    find: async (pin) => {
      const recorded = await ledger.releases.ofPin(pin);
      if (recorded === null) return { kind: "none" };
      if (store === undefined) return { kind: "unreachable", why: NO_STORE };
      const known = loaded.get(recorded.bundle);
      if (known !== undefined) return known;
      const loading = load(recorded, store).catch((error: unknown): FoundRelease => {
        log.error("where releases lie cannot be read", { digest: recorded.bundle, error: errorInLog(error) });
        return {
          kind: "unreachable",
          why: `${store.place} does not answer (${describeFailure(error).name})`,
        };
      });
      loaded.set(recorded.bundle, loading);
      const found = await loading;
      // What was mended meanwhile is found by the next hop.
      if (found.kind !== "loaded") loaded.delete(recorded.bundle);
      else log.info("a release was loaded", { workflow: pin.name, version: pin.version, digest: pin.digest });
      return found;
    },
  };
}

const NO_STORE = "GHOULS_RELEASES of this process does not say where releases lie";

async function load(recorded: RecordedRelease, store: Pick<OpenReleaseStore, "get">): Promise<FoundRelease> {
  const { bundle, workflow: pin, build, removedAt } = recorded;
  const bytes = await store.get(bundle);
  if (bytes === undefined) {
    const when = removedAt === null ? "" : `, since it was removed at ${removedAt.toISOString()}`;
    return refused(`its bundle ${bundle} is gone${when}; build ${build} had it: publish that one again`);
  }
  const problem = problemOfBytes(bytes, bundle);
  if (problem !== undefined) return refused(`${problem}; publish it again from build ${build}`);
  const release = releaseOf(bytes, pin);
  if (typeof release === "string") return refused(release);
  const opened = await openRelease(release);
  return typeof opened === "string" ? refused(opened) : { kind: "loaded", release: opened };
}

function refused(why: string): FoundRelease {
  return { kind: "refused", why };
}

/** Why bytes are not the bundle of that name. */
export function problemOfBytes(bytes: Uint8Array, bundle: string): string | undefined {
  const digest = sha256OfBytes(bytes);
  return digest === bundle
    ? undefined
    : `its bundle ${bundle} was altered: its bytes have the digest ${digest}`;
}

/** The release of a bundle; or why it is none of this pin. */
export function releaseOf(bytes: Uint8Array, pin?: WorkflowPin): Release | string {
  const release = parseRelease(Buffer.from(bytes).toString("utf8"));
  if (release === undefined) return "its bundle is no release of this version";
  const { workflow, basis } = release;
  if (pin !== undefined && (workflow.name !== pin.name || workflow.digest !== pin.digest))
    return `its bundle is of workflow "${workflow.name}" with digest ${workflow.digest}`;
  return sha256(canonicalText(basis)) === workflow.digest
    ? release
    : `its bundle says of digest ${workflow.digest} what it is not made of`;
}

/** The code of a release; or why it cannot be had. */
async function openRelease(release: Release): Promise<LoadedRelease | string> {
  const { workflow, defines, files } = release;
  const own = workflowKey(workflow);
  const registry = new Registry([]);
  const register = (definition: AnyWorkflow): void => {
    const key = workflowKey(definition);
    const digest = Object.hasOwn(defines, key) ? defines[key] : undefined;
    if (digest !== undefined) registry.add({ definition, digest });
  };
  try {
    const all = await importRelease(files, register);
    const mine = all.filter((one) => workflowKey(one) === own);
    if (mine.length !== 1) return `its code defines ${own} ${mine.length} times`;
    all.forEach(register);
    return { registry };
  } catch (error) {
    const { name, message } = describeFailure(error);
    return `its code cannot be loaded: ${name}: ${message.split("\n")[0]}`;
  }
}
