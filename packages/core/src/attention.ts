/**
 * Why a run asks for a person: with one of these, and a colon, begins every reason that is kept of attention. Closed: the
 * runbook has an entry for each, and what is raised is typed by it.
 */
export const ATTENTION_REASONS = [
  /** A delivery is published again and again, and no worker claims it. */
  "unclaimed",
  /** A step does not end. */
  "step_overdue",
  /** The code waits for something that is no step and no wait. */
  "code_overdue",
  /** Units that a run has to have again are not to be had. */
  "reservation_waits",
  /** An owner of authority or grants does not say what the run may hold. */
  "holdings_unknown",
  /** The code of a run is in a release, and where releases lie does not answer. */
  "release_unreachable",
  /** An effect that happens once may or may not have happened. */
  "effect_unknown",
  /** Nobody knows of a job at another service. */
  "attempt_uncertain",
  /** A service contradicts what it has said of a job. */
  "attempt_contradicted",
  /** Something of an ending run waits for a word. */
  "containment",
  /** A probe or an undo of an ending run was tried in vain. */
  "containment failed",
  /** A worker could not begin with what is left of an ending run. */
  "containment refused",
] as const;
export type AttentionReason = (typeof ATTENTION_REASONS)[number];

/** A reason as it is kept. */
export type AttentionText = `${AttentionReason}: ${string}`;

/** Longest reason that is kept, in UTF-16 units. */
const MAX_ATTENTION = 1_000;

export function attentionText(reason: AttentionReason, what: string): AttentionText {
  const prefix = `${reason}: ` as const;
  return `${prefix}${what.slice(0, MAX_ATTENTION - prefix.length)}`;
}

/** What a quarantine is for, by the texts that are kept of it. Closed, as {@link ATTENTION_REASONS}. */
export const QUARANTINE_REASONS = {
  /** A judgement has found a fault of the run. */
  integrity: /^integrity: /,
  /** The terminal record of the ended run disagrees with it, or with its seal. */
  evidence: /^evidence: /,
  /** A text disagrees with the digest that was kept of it. */
  digest: /^(?!evidence: ).* disagrees with its digest$/s,
  /** The journal is shorter or longer than its run says, or has a hole. */
  journal:
    /^(?:the journal has .+ entries, the run says |journal entry .+ is missing$|the result of journal entry .+ is gone$)/,
  /** What a child of the run has come to is gone. */
  child: /^the end of child .+ is gone$/,
  /** The checkpoint that the run goes on from is missing, or disagrees. */
  checkpoint: /^checkpoint .+ (?:is missing|is of another workflow digest|disagrees with the journal)$/,
  /** A digest that another code accepts is not what the run is pinned to. */
  accepts: /^workflow digest .+ accepts the run's, but /,
  /** The code of the run, as a deploy has left it, is gone or is not what was recorded. */
  release: /^the release of .+ is refused: /,
} as const;
export type QuarantineReason = keyof typeof QUARANTINE_REASONS;
