import { fileURLToPath } from "node:url";
import { NonRetryableError } from "ghouls";
import * as z from "zod";
import { readBounded, sha256 } from "./files.ts";
import { parseExpression, spelling } from "./spdx.ts";

/** The policy that ships with this example. */
export const SHIPPED_POLICY = fileURLToPath(new URL("policy.json", import.meta.url));

/** Largest policy file that is read, in bytes. */
const MAX_POLICY_BYTES = 1024 * 1024;

const Reason = z.string().trim().min(1);

/** An id alone, or an id with the reason why it stands on this list. */
const Listed = z
  .union([z.string(), z.strictObject({ id: z.string(), reason: Reason })])
  .transform((entry) => (typeof entry === "string" ? { id: entry, reason: undefined } : entry));

const LicenceId = Listed.refine(({ id }) => isLicenceId(id), {
  error: 'is no SPDX licence id such as "MIT"; write one id an entry, no expression',
});

const AllowedException = Listed.refine(({ id }) => isException(id), {
  error:
    'is neither an SPDX exception such as "LLVM-exception" nor a pair such as "GPL-2.0-only WITH Classpath-exception-2.0"',
});

const Reviewed = z.strictObject({
  package: z.string().regex(/^.+@[^@]+$/, 'must be "name@version"'),
  /** What the lockfile said when the package was reviewed. With another licence the review no longer holds. */
  licence: z.string().optional(),
  reason: Reason,
});

const PolicyFile = z
  .strictObject({
    name: z.string().trim().min(1),
    /** Whether a package from the registry may stand in the lockfile without an integrity; if not, it is refused. */
    requireIntegrity: z.boolean().default(true),
    allowed: z.array(LicenceId).min(1),
    denied: z.array(LicenceId).default([]),
    allowedExceptions: z.array(AllowedException).default([]),
    aliases: z
      .record(
        z.string(),
        z.string().refine((text) => parseExpression(text) !== undefined, "must be an SPDX expression"),
      )
      .default({}),
    reviewed: z.array(Reviewed).default([]),
  })
  .superRefine((file, context) => {
    const allowed = new Set(file.allowed.map(({ id }) => id));
    for (const [index, { id }] of file.denied.entries()) {
      if (allowed.has(id)) {
        context.addIssue({
          code: "custom",
          path: ["denied", index],
          message: `${id} is allowed and denied; choose one`,
        });
      }
    }
  });

/** A policy, ready to judge by. */
export interface Policy {
  readonly name: string;
  readonly requireIntegrity: boolean;
  readonly allowed: ReadonlySet<string>;
  /** Denied ids with their reasons. */
  readonly denied: ReadonlyMap<string, string | undefined>;
  /** Exceptions, and pairs of licence and exception. */
  readonly exceptions: ReadonlySet<string>;
  /** Known ids and aliases by spelling, each with the expression that it stands for. */
  readonly aliases: ReadonlyMap<string, string>;
  readonly reviewed: ReadonlyMap<string, { readonly licence: string | undefined; readonly reason: string }>;
}

/** A policy with what identifies the file it was read from. */
export interface PolicyOnDisk {
  readonly policy: Policy;
  readonly path: string;
  /** Of the file's bytes, in hex. */
  readonly sha256: string;
}

/**
 * Reads a policy file.
 * @throws NonRetryableError for a file that cannot be read or is no policy
 */
export async function readPolicy(path: string): Promise<PolicyOnDisk> {
  const text = await readBounded(path, {
    what: "policy file",
    maxBytes: MAX_POLICY_BYTES,
    fix: `Leave "policy" away for the policy that ships with the example, ${SHIPPED_POLICY}.`,
  });
  return { policy: parsePolicy(text, path), path, sha256: sha256(text) };
}

/**
 * Parses the text of a policy file; `path` is for the messages alone.
 * @throws NonRetryableError for text that is no policy, with each place that is wrong
 */
export function parsePolicy(text: string, path: string): Policy {
  const result = PolicyFile.safeParse(json(text, path));
  if (!result.success) {
    const places = result.error.issues
      .slice(0, 5)
      .map((issue) => `${issue.path.join(".") || "(top)"}: ${issue.message}`);
    throw new NonRetryableError(`The policy file ${path} is wrong. Correct it: ${places.join("; ")}`);
  }
  const file = result.data;
  const ids = [...file.allowed, ...file.denied].map(({ id }): [string, string] => [spelling(id), id]);
  const aliases = Object.entries(file.aliases).map(([alias, id]): [string, string] => [spelling(alias), id]);
  return {
    name: file.name,
    requireIntegrity: file.requireIntegrity,
    allowed: new Set(file.allowed.map(({ id }) => id)),
    denied: new Map(file.denied.map(({ id, reason }) => [id, reason])),
    exceptions: new Set(file.allowedExceptions.map(({ id }) => id)),
    aliases: new Map([...ids, ...aliases]),
    reviewed: new Map(
      file.reviewed.map((entry) => [entry.package, { licence: entry.licence, reason: entry.reason }]),
    ),
  };
}

function json(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new NonRetryableError(
      `The policy file ${path} is not JSON: ${(error as Error).message}. Correct it.`,
    );
  }
}

function isLicenceId(id: string): boolean {
  const node = parseExpression(id);
  return node !== undefined && "license" in node && node.exception === undefined;
}

function isException(id: string): boolean {
  const node = parseExpression(id.includes(" WITH ") ? id : `MIT WITH ${id}`);
  return node !== undefined && "license" in node && node.exception !== undefined;
}
