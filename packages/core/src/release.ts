import * as z from "zod";
import type { OnWorkerLoss } from "./workflow.ts";

/** Raised where a worker could not load a release of before any more. */
const FORMAT = 1;

/** What a workflow's digest is made of. Its canonical JSON has the digest as its SHA-256 (design.md §5). */
export interface DigestBasis {
  readonly tag: string;
  readonly name: string;
  readonly version: number;
  /** As JSON Schema. */
  readonly input: unknown;
  /** Null where it has none. */
  readonly output: unknown;
  /** Path from the project's root and digest of each local module, sorted by path. */
  readonly modules: readonly (readonly [path: string, digest: string])[];
}

/** A file of a release: its text, or its bytes as base64. */
export type ReleaseFile = string | { readonly base64: string };

/** The module that a worker imports. */
export const RELEASE_ENTRY = "index.mjs";

/** The code of one workflow digest, as its bundle has it. */
export interface Release {
  readonly workflow: {
    readonly name: string;
    readonly version: number;
    readonly digest: string;
    readonly onWorkerLoss: OnWorkerLoss;
    /** How long a run may take from its admission, in milliseconds; null for as long as it likes. */
    readonly deadlineMs: number | null;
  };
  readonly basis: DigestBasis;
  /** Digests by `<name>@<version>` of all workflows that its modules define, itself among them: what it may start as children. */
  readonly defines: Readonly<Record<string, string>>;
  /** By their path below the folder that they are put into. */
  readonly files: Readonly<Record<string, ReleaseFile>>;
}

const Digest = z.string().regex(/^[0-9a-f]{64}$/);

/** No way out of the folder. */
const Path = z
  .string()
  .refine(
    (path) => /^[^\\]+$/.test(path) && path.split("/").every((part) => !["", ".", ".."].includes(part)),
  );

const Document = z.strictObject({
  format: z.literal(FORMAT),
  workflow: z.strictObject({
    name: z.string(),
    version: z.int(),
    digest: Digest,
    onWorkerLoss: z.enum(["resume", "fail"]),
    deadlineMs: z.number().nullable(),
  }),
  basis: z.strictObject({
    tag: z.string(),
    name: z.string(),
    version: z.int(),
    input: z.unknown(),
    output: z.unknown(),
    modules: z.array(z.tuple([z.string(), Digest])),
  }),
  defines: z.record(z.string(), Digest),
  files: z
    .record(Path, z.union([z.string(), z.strictObject({ base64: z.base64() })]))
    .refine((files) => Object.hasOwn(files, RELEASE_ENTRY)),
});

/** A release as its bundle: one JSON text, so that the same code is the same bytes. */
export function releaseText(release: Release): string {
  const { workflow, basis, defines, files } = release;
  return `${JSON.stringify({ format: FORMAT, workflow, basis, defines: sorted(defines), files: sorted(files) })}\n`;
}

/** Undefined for a text that is no release of this format. */
export function parseRelease(text: string): Release | undefined {
  try {
    const { success, data } = Document.safeParse(JSON.parse(text));
    return success ? data : undefined;
  } catch {
    return undefined;
  }
}

function sorted<T>(record: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
