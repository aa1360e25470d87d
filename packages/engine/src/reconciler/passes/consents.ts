import {
  readSourceAnswer,
  sha256,
  type Codec,
  type DecisionSource,
  type FaultInjector,
  type Logger,
} from "@ghouls/core";
import type { Ledger, RepairNote, StoredConsent } from "@ghouls/ledger";
import type { Publisher } from "../../admission/publisher.ts";
import { answerWithin } from "../../patience.ts";
import { LEFT, REPAIRED, noteOf, ownedBy, type Outcome, type Owner, type Pass, type Turn } from "../pass.ts";

export interface ConsentsPassOptions {
  readonly ledger: Pick<Ledger, "consents">;
  readonly publisher: Pick<Publisher, "publish">;
  readonly codec: Codec;
  /** By their names in the configuration. */
  readonly decisionSources: Readonly<Record<string, DecisionSource>>;
  readonly faults: FaultInjector;
  readonly log: Logger;
  readonly settings: { readonly publisherGraceSeconds: number };
}

type Due = StoredConsent & Owner & { readonly looks: number };

/** Seconds until a source that does not know yet is asked again: 30 s, doubling to an hour. */
function nextLookSeconds(looks: number): number {
  return Math.min(3_600, 30 * 2 ** Math.min(looks, 10));
}

/**
 * Consent re-admission: asks the sources of consents that somebody else decides. One that does not answer within its turn keeps
 * its consent PENDING, and is asked again later.
 */
export function consentsPass(options: ConsentsPassOptions): Pass<Due> {
  const { ledger } = options;
  const pass: Pass<Due> = {
    name: "consents",
    asks: true,
    find: async (look) => ownedBy(await ledger.consents.toLookUp(look), ({ consentId }) => consentId),
    describe: ({ source, status }) => ({
      rule: `its decision source is to be asked: ${source ?? "none"}`,
      before: status,
    }),
    repair: async ([due], turn) => {
      if (due === undefined) return [];
      // First, so that a source that fails takes no turn of the others, and several reconcilers ask it once.
      if (!(await ledger.consents.postponeLookUp(due, nextLookSeconds(due.looks)))) return [LEFT];
      return [await lookUp(due, { options, turn, repair: noteOf(pass, due) })];
    },
  };
  return pass;
}

interface LookUp {
  readonly options: ConsentsPassOptions;
  readonly turn: Turn;
  readonly repair: RepairNote;
}

async function lookUp(consent: Due, { options, turn, repair }: LookUp): Promise<Outcome> {
  const { ledger, publisher, codec, faults, log, settings } = options;
  const name = consent.source ?? "";
  const source = Object.hasOwn(options.decisionSources, name) ? options.decisionSources[name] : undefined;
  if (source === undefined) throw new Error(`the configuration has no decision source "${name}"`);
  const { tenantId, runId, consentId, title, requestText, requestDigest: digest } = consent;
  const request = JSON.parse(await codec.decode(requestText, { tenantId, runId, kind: "consent" })) as {
    detail: unknown;
  };
  const question = { tenantId, runId, consentId, title, digest, detail: request.detail };
  const answer = readSourceAnswer(await answerWithin(source.lookUp(question, turn.signal), turn.withinMs()));
  await faults("consents.after-look", consentId);
  if (answer.outcome === "pending") return LEFT;
  const comment = answer.comment ?? null;
  const commentText =
    comment === null ? null : await codec.encode(comment, { tenantId, runId, kind: "comment" });
  const decided = await ledger.consents.decide(
    { tenantId, consentId },
    {
      subject: `source:${name}/${answer.by}`.slice(0, 300),
      roles: [],
      verdict: answer.outcome,
      digest,
      commentText,
      commentDigest: commentText === null ? null : sha256(commentText),
    },
    { publisherGraceSeconds: settings.publisherGraceSeconds, asSource: true, repair },
  );
  if (decided === null) return LEFT;
  // Also where its word came after the consent's time: that is over, which brings the run back.
  if (decided.resumption !== null) await publisher.publish(decided.resumption);
  const { outcome } = answer;
  if (decided.judgement.kind !== "counts") {
    const { status } = decided.consent;
    log.info("a decision source was late", { runId, source: name, outcome, status });
    return decided.judgement.kind === "expired" ? REPAIRED : LEFT;
  }
  log.info("a decision source has decided a consent", { runId, source: name, outcome });
  return REPAIRED;
}
