import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { API_KEY_BYTES, DEPLOYMENT_PERMISSIONS, mintApiKey, parseApiKey, type NewApiKey } from "@ghouls/core";
import { DEV_TENANT } from "./child-environment.ts";
import { readIfThere, writeAtomically } from "ghouls/processes/files";
import type { KeyMaker } from "./parts.ts";
import type { DevState } from "./state.ts";

const SUBJECTS = ["operator", "submitter", "decider"] as const;
type Keys = Readonly<Record<(typeof SUBJECTS)[number], NewApiKey>>;

/**
 * The three keys of a data folder, in the ledger: each is of the tenant "default", and its subject's name is its only role.
 * They are made at the first start and are the same at each later one, also where the database was made anew; one that was
 * revoked is replaced. They are kept in a file that only its owner may read.
 * @throws GhoulsError where the role of `ledger` may not make keys
 */
export async function ensureKeys(dataDir: string, ledger: KeyMaker): Promise<DevState["tokens"]> {
  const file = join(dataDir, "keys.json");
  const kept = await keptIn(file);
  const first = each((subject) => kept(subject) ?? newKey());
  const revoked = await put(file, first, ledger);
  if (revoked.length === 0) return textsOf(first);
  const second = each((subject) => (revoked.includes(subject) ? newKey() : first[subject]));
  await put(file, second, ledger);
  return textsOf(second);
}

/** Answers whose key has been revoked. */
async function put(file: string, keys: Keys, ledger: KeyMaker): Promise<readonly string[]> {
  // Before the ledger has them: whatever ends this start in between, the next one goes on with the same.
  await writeAtomically(file, `${JSON.stringify(textsOf(keys), null, 2)}\n`);
  const made = await ledger.keys.create(
    SUBJECTS.map((subject) => ({
      tenantId: DEV_TENANT,
      keyId: keys[subject].keyId,
      digest: keys[subject].digest,
      subject,
      roles: [subject],
      // Nobody else operates this machine.
      permissions: subject === "operator" ? DEPLOYMENT_PERMISSIONS : [],
      createdBy: "ghouls dev",
      expiresInMs: null,
    })),
  );
  return SUBJECTS.filter((_subject, index) => made[index]?.revokedAt !== null);
}

/** Keys can be made anew, so a file that is damaged stops nothing. */
async function keptIn(file: string): Promise<(subject: string) => NewApiKey | undefined> {
  const kept = objectOf((await readIfThere(file)) ?? "{}");
  return (subject) => {
    const text = kept[subject];
    const parsed = typeof text === "string" ? parseApiKey(text) : undefined;
    return parsed && { ...parsed, text: text as string };
  };
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function newKey(): NewApiKey {
  return mintApiKey(randomBytes(API_KEY_BYTES));
}

function each<T>(make: (subject: (typeof SUBJECTS)[number]) => T) {
  return { operator: make("operator"), submitter: make("submitter"), decider: make("decider") };
}

function textsOf(keys: Keys): DevState["tokens"] {
  return each((subject) => keys[subject].text);
}
