import {
  GhoulsError,
  PUBLISHER_GRACE_SECONDS,
  decidersNaming,
  isRunId,
  sha256,
  statesOf,
  type Codec,
  type ConsentStatus,
  type FaultInjector,
  type Principal,
  type Verdict,
  type wire,
} from "@ghouls/core";
import type { DecideAnswer, Ledger, ListedConsent, StoredConsent, StoredDecision } from "@ghouls/ledger";
import { publishInTime, type Publisher } from "./admission/publisher.ts";
import { cursorOf, positionOf } from "./cursor.ts";
import type { ConsentService } from "./services.ts";

export interface ConsentsOptions {
  readonly ledger: Ledger;
  readonly codec: Codec;
  readonly publisher: Pick<Publisher, "publish">;
  readonly faults: FaultInjector;
}

/** Consents as people see and decide them. */
export function createConsents({ ledger, codec, publisher, faults }: ConsentsOptions): ConsentService {
  const viewOf = async (consent: StoredConsent): Promise<wire.ConsentView> => {
    const [request, decisions] = await Promise.all([
      requestOf(consent, codec),
      ledger.consents.decisions(consent),
    ]);
    return {
      ...shownOf(consent),
      detail: request.detail,
      decisions: await decodedDecisions(consent, decisions, codec),
    };
  };
  // Nothing of it passes the codec: one that cannot be read hides no other.
  const summaryOf = async (consent: ListedConsent & { intact: boolean }): Promise<wire.ConsentSummary> => {
    const decisions = await ledger.consents.decisions(consent);
    return {
      ...shownOf(consent),
      decisions: decisions.map(({ by, verdict, at }) => ({ by, verdict, at: at.toISOString() })),
      problem: consent.intact ? null : `its ${ALTERED}`,
    };
  };
  return {
    get: async (tenantId, consentId) => {
      if (!isRunId(consentId)) return undefined;
      const consent = await ledger.consents.get({ tenantId, consentId });
      return consent === null ? undefined : viewOf(consent);
    },

    list: async (tenantId, filter, page) =>
      pageOf(await ledger.consents.page(tenantId, filter, placeOf(page)), summaryOf),

    inbox: async (principal, page) => {
      const who = { subject: principal.subject, named: decidersNaming(principal) };
      return pageOf(await ledger.consents.inbox(principal.tenantId, who, placeOf(page)), summaryOf);
    },

    decide: async (principal, consentId, decision) => {
      const answer = isRunId(consentId)
        ? await decide({ ledger, codec }, principal, consentId, decision)
        : null;
      if (answer === null) throw absent();
      await faults("consents.after-commit", consentId);
      const { judgement, consent, resumption } = answer;
      if (resumption !== null) await publishInTime(publisher, resumption);
      refuseWhatDidNotCount(judgement, consent);
      return {
        consentId,
        runId: consent.runId,
        status: consent.status,
        repeated: judgement.kind === "repeated",
        resumed: resumption !== null,
      };
    },
  };
}

const placeOf = ({ limit, cursor }: { limit: number; cursor?: string }) => ({
  limit,
  ...(cursor === undefined ? {} : { after: positionOf(cursor) }),
});

async function pageOf(
  { consents, next }: Awaited<ReturnType<Ledger["consents"]["page"]>>,
  summaryOf: (consent: ListedConsent & { intact: boolean }) => Promise<wire.ConsentSummary>,
): Promise<wire.ConsentPage> {
  return {
    consents: await Promise.all(consents.map(summaryOf)),
    nextCursor: next === undefined ? null : cursorOf(next),
  };
}

/** The digest of a consent, without the request: what a decision has to name. */
async function decide(
  { ledger, codec }: Pick<ConsentsOptions, "ledger" | "codec">,
  principal: Principal,
  consentId: string,
  { verdict, digest, comment }: { verdict: Verdict; digest: string; comment?: string },
): Promise<DecideAnswer | null> {
  const { tenantId, subject, roles } = principal;
  const consent = await ledger.consents.get({ tenantId, consentId });
  if (consent === null) return null;
  const commentText =
    comment === undefined
      ? null
      : await codec.encode(comment, { tenantId, runId: consent.runId, kind: "comment" });
  return ledger.consents.decide(
    { tenantId, consentId },
    {
      subject,
      roles,
      verdict,
      digest,
      commentText,
      commentDigest: commentText === null ? null : sha256(commentText),
    },
    { publisherGraceSeconds: PUBLISHER_GRACE_SECONDS },
  );
}

function refuseWhatDidNotCount(judgement: DecideAnswer["judgement"], consent: StoredConsent): void {
  switch (judgement.kind) {
    case "counts":
    case "repeated":
      return;
    case "not_a_decider":
      throw new GhoulsError("not_a_decider", "this consent is for others to decide", {
        fix: `It is decided by ${consent.deciders.join(", ")}.`,
      });
    case "requester":
      throw new GhoulsError("not_a_decider", "whoever asked for the run may not decide its consent", {
        fix: "Let another decider decide, or set requesterMayDecide in the workflow.",
      });
    case "changed":
      throw new GhoulsError(
        "consent_changed",
        "the decision names another request than the one that is open",
        {
          fix: `Show the consent again; its digest is ${consent.requestDigest}.`,
        },
      );
    case "contradicts":
      throw new GhoulsError(
        "consent_closed",
        `you have said "${judgement.verdict}" before, and a word stands`,
        {
          fix: "Cancel the run, or let the other deciders decide.",
        },
      );
    case "expired":
      throw new GhoulsError("consent_closed", `the consent's time is over: it is ${consent.status}`, {
        fix: "Ask for the run again.",
      });
    case "closed":
      throw new GhoulsError(
        "consent_closed",
        `the consent is ${judgement.status} already, by ${judgement.by}`,
        {
          fix: "GET /v1/consents/<id> has all decisions.",
        },
      );
  }
}

const ALTERED = "request disagrees with its digest";

/** The frozen request as it was shown. @throws GhoulsError integrity_fault where it is another */
async function requestOf(consent: StoredConsent, codec: Codec): Promise<{ detail: unknown }> {
  const { tenantId, runId, requestText, storedDigest } = consent;
  // Retention has emptied it.
  if (requestText === "") return { detail: null };
  if (sha256(requestText) !== storedDigest)
    throw new GhoulsError("integrity_fault", `of consent ${consent.consentId} the ${ALTERED}`);
  const text = await codec.decode(requestText, { tenantId, runId, kind: "consent" });
  return JSON.parse(text) as { detail: unknown };
}

async function decodedDecisions(
  { tenantId, runId }: StoredConsent,
  decisions: readonly StoredDecision[],
  codec: Codec,
): Promise<wire.ConsentView["decisions"]> {
  return Promise.all(
    decisions.map(async ({ by, verdict, at, commentText }) => ({
      by,
      verdict,
      at: at.toISOString(),
      comment:
        commentText === null ? null : await codec.decode(commentText, { tenantId, runId, kind: "comment" }),
    })),
  );
}

/** What every look at a consent shows. */
function shownOf(consent: ListedConsent): Omit<wire.ConsentView, "detail" | "decisions"> {
  return {
    consentId: consent.consentId,
    runId: consent.runId,
    workflow: consent.workflow,
    title: consent.title,
    status: consent.status,
    digest: consent.requestDigest,
    deciders: [...consent.deciders],
    quorum: consent.quorum,
    requestedBy: consent.requestedBy,
    requesterMayDecide: consent.requesterMayDecide,
    onExpiry: consent.onExpiry,
    source: consent.source,
    createdAt: consent.createdAt.toISOString(),
    expiresAt: consent.expiresAt?.toISOString() ?? null,
    closedAt: consent.closedAt?.toISOString() ?? null,
    closedBy: consent.closedBy,
  };
}

/** Whether a text of a filter is a status. */
export function isConsentStatus(text: string): text is ConsentStatus {
  return (statesOf("consent") as string[]).includes(text);
}

function absent(): GhoulsError {
  return new GhoulsError("not_found", "there is no such consent", {
    fix: "GET /v1/consents lists those that this token may see.",
  });
}
