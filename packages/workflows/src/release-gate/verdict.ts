import * as z from "zod";
import type { Finding } from "./integrity.ts";
import { Published } from "./publish.ts";
import { Signature } from "./signature.ts";

/** Most findings and questions that a verdict lists; the counts are always of all. */
export const MAX_LISTED = 500;

const Counts = z.object({
  verified: z.number().int(),
  not_in_cache: z.number().int(),
  mismatch: z.number().int(),
  no_integrity: z.number().int(),
});
type Counts = z.infer<typeof Counts>;

const Question = z.object({ package: z.string(), version: z.string(), licence: z.string(), why: z.string() });
const Named = z.object({ package: z.string(), why: z.string() });
const File = z.object({ path: z.string(), bytes: z.number().int(), sha256: z.string() });

const Answer = z.object({
  outcome: z.enum(["GRANTED", "DENIED", "EXPIRED"]),
  decisions: z.array(
    z.object({
      by: z.string(),
      verdict: z.enum(["grant", "deny"]),
      at: z.string(),
      comment: z.string().nullable(),
    }),
  ),
});

/** What the gate decides about a project, and writes to verdict.json. */
export const Verdict = z.object({
  decision: z.enum(["PASSED", "REFUSED"]),
  /** Why, in sentences. */
  reasons: z.array(z.string()),
  lockfile: z.object({ path: z.string(), sha256: z.string() }),
  policy: z.object({ name: z.string(), path: z.string(), sha256: z.string() }),
  components: z.number().int(),
  /** Of the packages from outside of the project. */
  integrity: Counts,
  mismatches: z.array(Named),
  /** Packages of the registry that stand in the lockfile without an integrity. */
  gaps: z.array(Named),
  questions: z.array(Question),
  /** How many questions there are beyond those listed. */
  questionsOmitted: z.number().int(),
  bom: File,
  /** What people said to the questions; null where they were not asked. */
  consent: Answer.nullable(),
});
export type Verdict = z.infer<typeof Verdict>;

/** What the release gate answers: PASSED is signed and published. */
export const Report = Verdict.extend({
  signature: Signature.nullable(),
  published: Published.nullable(),
});
export type Report = z.infer<typeof Report>;

/** The findings of one batch, small enough for a journal. */
export interface BatchSummary {
  readonly counts: Counts;
  readonly mismatches: readonly z.infer<typeof Named>[];
  readonly gaps: readonly z.infer<typeof Named>[];
  /** The cache's folder, where it did not exist. */
  readonly missingCache: string | null;
}

/** Counts the findings of a batch and keeps those that matter. */
export function summarise(findings: readonly Finding[], missingCache: string | null): BatchSummary {
  const counts: Counts = { verified: 0, not_in_cache: 0, mismatch: 0, no_integrity: 0 };
  for (const { outcome } of findings) counts[outcome] += 1;
  const named = (chosen: readonly Finding[]) =>
    chosen.map(({ package: name, why }) => ({ package: name, why }));
  return {
    counts,
    mismatches: named(findings.filter(({ outcome }) => outcome === "mismatch")),
    gaps: named(findings.filter(({ isGap }) => isGap)),
    missingCache,
  };
}

/** Everything that a decision rests on. */
export interface Evidence extends Omit<
  Verdict,
  "decision" | "reasons" | "integrity" | "mismatches" | "gaps"
> {
  readonly batches: readonly BatchSummary[];
  /** The policy's word on packages of the registry without an integrity. */
  readonly requireIntegrity: boolean;
}

export interface Decided {
  readonly verdict: Verdict;
  /** Whether nothing but questions about licences refuses, so that people may be asked. */
  readonly hangsOnLicences: boolean;
}

/**
 * Decides. REFUSED for a mismatch, where the policy requires an integrity for a package of the registry without one, and
 * for questions about licences to which nobody has consented. What the cache does not hold is told and does not refuse:
 * machines differ.
 */
export function decide({ batches, requireIntegrity, ...rest }: Evidence): Decided {
  const integrity: Counts = { verified: 0, not_in_cache: 0, mismatch: 0, no_integrity: 0 };
  for (const { counts } of batches) {
    integrity.verified += counts.verified;
    integrity.not_in_cache += counts.not_in_cache;
    integrity.mismatch += counts.mismatch;
    integrity.no_integrity += counts.no_integrity;
  }
  const gaps = batches.flatMap((batch) => batch.gaps);
  const open = rest.questions.length + rest.questionsOmitted;
  const inQuestion = `${open === 1 ? "1 licence" : `${open} licences`} in question`;
  const granted = rest.consent?.outcome === "GRANTED";
  const contents = [
    integrity.mismatch > 0
      ? `${packages(integrity.mismatch)} with another content than the lockfile says.`
      : "",
    requireIntegrity && gaps.length > 0
      ? `${packages(gaps.length)} of the registry without an integrity.`
      : "",
  ].filter((sentence) => sentence !== "");
  const licences = open > 0 && !granted ? [`${inQuestion}${answered(rest.consent)}.`] : [];
  const against = [...contents, ...licences];
  const verdict: Verdict = {
    decision: against.length === 0 ? "PASSED" : "REFUSED",
    reasons: [
      ...against,
      ...(open > 0 && granted ? [`${inQuestion}${answered(rest.consent)}.`] : []),
      ...notes(integrity, batches),
    ],
    ...rest,
    integrity,
    mismatches: batches.flatMap((batch) => batch.mismatches).slice(0, MAX_LISTED),
    gaps: gaps.slice(0, MAX_LISTED),
  };
  return { verdict, hangsOnLicences: contents.length === 0 && licences.length > 0 };
}

/** The verdict on a release that passed and is not signed after all. */
export function unsigned(verdict: Verdict, why: string): Verdict {
  return { ...verdict, decision: "REFUSED", reasons: [`Not signed: ${why}.`, ...verdict.reasons] };
}

/** Who answers for a verdict: the people who consented, or else the policy, by the beginning of its digest. */
export function decidedBy({ consent, policy }: Verdict): readonly string[] {
  const granted = consent?.decisions.filter(({ verdict }) => verdict === "grant").map(({ by }) => by) ?? [];
  return granted.length > 0 ? granted : [`policy:${policy.name}@${policy.sha256.slice(0, 12)}`];
}

/** Who has said what to the questions. */
function answered(consent: Verdict["consent"]): string {
  if (consent === null) return "";
  if (consent.outcome === "EXPIRED") return ", and nobody answered in time";
  const said = consent.outcome === "GRANTED" ? "grant" : "deny";
  const by = consent.decisions.filter(({ verdict }) => verdict === said).map((one) => one.by);
  return `, ${consent.outcome === "GRANTED" ? "granted" : "denied"} by ${by.join(", ")}`;
}

function notes(integrity: Counts, batches: readonly BatchSummary[]): readonly string[] {
  const missing = batches.find(({ missingCache }) => missingCache !== null)?.missingCache;
  const checked = `${packages(integrity.verified)} verified against npm's cache.`;
  const absent = `${packages(integrity.not_in_cache)} not in the cache of this machine, so not verified.`;
  return [
    checked,
    ...(integrity.not_in_cache > 0 ? [absent] : []),
    ...(missing ? [`There is no npm cache at ${missing}.`] : []),
  ];
}

function packages(count: number): string {
  return count === 1 ? "1 package" : `${count} packages`;
}
