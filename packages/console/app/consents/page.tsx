import { ProblemError } from "@ghouls/client";
import type { wire } from "@ghouls/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Copy } from "../parts/copy.tsx";
import { Empty } from "../parts/empty.tsx";
import { Fact, Facts } from "../parts/facts.tsx";
import { ProblemNote } from "../parts/problem.tsx";
import { Shown } from "../parts/shown.tsx";
import { ConsentStatusPill } from "../parts/status.tsx";
import { Ago, Left, Moment } from "../parts/time.tsx";
import { Tree } from "../parts/tree.tsx";
import { useClient } from "../session/gate.tsx";
import { Decide } from "./decide.tsx";
import "./consents.css";

const route = getRouteApi("/consents/$consentId");
const LOOK_MS = 4_000;

/** One consent: the request as it is bound, and the word about it. */
export function ConsentPage() {
  const { consentId } = route.useParams();
  const client = useClient();
  const { data: consent, error } = useQuery({
    queryKey: ["consent", consentId],
    queryFn: ({ signal }) => client.getConsent(consentId, { signal }),
    refetchInterval: ({ state }) =>
      state.data !== undefined && state.data.status !== "PENDING" ? false : LOOK_MS,
  });
  if (error instanceof ProblemError && error.status === 404) {
    return (
      <div className="page narrow">
        <h1>There is no such consent</h1>
        <Empty title={`No consent that you may see has the id ${consentId}`}>
          <Link to="/consents">What waits for you</Link>
        </Empty>
      </div>
    );
  }
  return (
    <div className="page narrow">
      <ProblemNote error={error} />
      {consent !== undefined && <Known key={consentId} consent={consent} />}
    </div>
  );
}

function Known({ consent }: { consent: wire.ConsentView }) {
  const { status, expiresAt } = consent;
  return (
    <>
      <div className="page-head">
        <h1>
          <Shown text={consent.title} />
        </h1>
        <ConsentStatusPill status={status} />
      </div>
      <section className="sheet" aria-label="The request">
        <h2>What is asked</h2>
        {consent.detail === null || consent.detail === undefined ? (
          <p className="quiet">Nothing beside its title.</p>
        ) : (
          <Tree value={consent.detail} name="The request" open={3} />
        )}
        <p className="quiet small digest">
          Bound to <code>{consent.digest}</code> <Copy text={consent.digest} what="the digest" />
        </p>
      </section>
      {status === "PENDING" && (
        <p className="note tone-person">
          {expiresAt === null ? (
            "It waits until somebody decides."
          ) : (
            <>
              {EXPIRY[consent.onExpiry]} <Left until={expiresAt} />, on <Moment at={expiresAt} />.
            </>
          )}{" "}
          {consent.quorum > 1 && `${grantsOf(consent)} of ${consent.quorum} have granted it.`}
        </p>
      )}
      <Decide consent={consent} />
      <Decisions consent={consent} />
      <div className="sheet">
        <Facts>
          <Fact name="Run">
            <Link to="/runs/$runId" params={{ runId: consent.runId }}>
              {consent.workflow}
            </Link>
          </Fact>
          <Fact name="Asked">
            <Moment at={consent.createdAt} />
          </Fact>
          <Fact name="Requested by">
            <Shown text={consent.requestedBy} />
            {consent.requesterMayDecide ? ", who may decide" : ", who may not decide"}
          </Fact>
          <Fact name="Decided by">
            <Shown text={consent.deciders.join(", ")} />
          </Fact>
          <Fact name="Also asked">{consent.source !== null && <Shown text={consent.source} />}</Fact>
        </Facts>
      </div>
    </>
  );
}

const EXPIRY: Readonly<Record<wire.ConsentView["onExpiry"], string>> = {
  expire: "It expires",
  grant: "It counts as granted",
  deny: "It counts as denied",
};

const grantsOf = ({ decisions }: wire.ConsentView): number =>
  decisions.filter(({ verdict }) => verdict === "grant").length;

/** Who decided, afterwards and meanwhile. */
function Decisions({ consent }: { consent: wire.ConsentView }) {
  const { decisions, closedAt, closedBy, status } = consent;
  if (decisions.length === 0 && closedAt === null) return null;
  return (
    <section className="sheet" aria-label="Decisions">
      <h2>Who decided</h2>
      <ul className="words">
        {decisions.map(({ by, verdict, at, comment }) => (
          <li key={by}>
            <p>
              <span className={`pill tone-${verdict === "grant" ? "good" : "bad"}`}>
                {verdict === "grant" ? "granted" : "denied"}
              </span>{" "}
              by <Shown text={by} />{" "}
              <span className="quiet small">
                <Ago at={at} />
              </span>
            </p>
            {comment !== null && (
              <blockquote>
                <Shown text={comment} />
              </blockquote>
            )}
          </li>
        ))}
        {closedAt !== null && !decisions.some(({ by }) => by === closedBy) && (
          <li>
            {status.toLowerCase()} by <Shown text={closedBy ?? "nobody"} />{" "}
            <span className="quiet small">
              <Ago at={closedAt} />
            </span>
          </li>
        )}
      </ul>
    </section>
  );
}
