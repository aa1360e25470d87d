import type { wire } from "@ghouls/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Choice } from "../parts/choice.tsx";
import { Empty } from "../parts/empty.tsx";
import { More } from "../parts/paged.tsx";
import { ProblemNote } from "../parts/problem.tsx";
import { Shown } from "../parts/shown.tsx";
import { ConsentStatusPill } from "../parts/status.tsx";
import { Ago, Left } from "../parts/time.tsx";
import { useClient } from "../session/gate.tsx";
import { useMe } from "../session/me.ts";
import type { Inbox } from "./search.ts";
import "./consents.css";

const route = getRouteApi("/consents");
const LOOK_MS = 5_000;

const SHOWN: readonly (readonly [Inbox, string])[] = [
  ["mine", "For you to decide"],
  ["pending", "All that wait"],
  ["all", "All"],
];

/** What is asked of people; first what is asked of whoever is signed in. */
export function ConsentsPage() {
  const { show = "mine" } = route.useSearch();
  const navigate = useNavigate();
  const client = useClient();
  const query = useInfiniteQuery({
    queryKey: ["consents", show],
    queryFn: ({ pageParam, signal }) =>
      client.listConsents({
        signal,
        ...(show === "mine" ? { mine: true } : show === "pending" ? { status: "PENDING" } : {}),
        ...(pageParam === null ? {} : { cursor: pageParam }),
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
    refetchInterval: LOOK_MS,
  });
  const consents = query.data?.pages.flatMap((page) => page.consents) ?? [];
  return (
    <div className="page narrow">
      <div className="page-head">
        <h1>Consents</h1>
      </div>
      <Choice
        name="Which consents"
        values={SHOWN}
        chosen={show}
        onChoose={(next) => void navigate({ to: "/consents", search: next === "mine" ? {} : { show: next } })}
      />
      <ProblemNote error={query.error} />
      {consents.length > 0 && (
        <ul className="cards" aria-label="Consents">
          {consents.map((consent) => (
            <li key={consent.consentId}>
              <Card consent={consent} />
            </li>
          ))}
        </ul>
      )}
      <More query={query} />
      {query.data !== undefined && consents.length === 0 && !query.hasNextPage && <Nothing show={show} />}
    </div>
  );
}

function Card({ consent }: { consent: wire.ConsentSummary }) {
  const { consentId, status, expiresAt } = consent;
  return (
    <Link to="/consents/$consentId" params={{ consentId }} className="card">
      <span className="card-title">
        <Shown text={consent.title} />
      </span>
      <ConsentStatusPill status={status} />
      <span className="quiet small">
        {consent.workflow}, asked <Ago at={consent.createdAt} /> for <Shown text={consent.requestedBy} />
      </span>
      <span className="quiet small card-end">
        {status === "PENDING" && expiresAt !== null && (
          <>
            expires <Left until={expiresAt} />
          </>
        )}
        {status !== "PENDING" && consent.closedBy !== null && (
          <>
            by <Shown text={consent.closedBy} />
          </>
        )}
      </span>
      {consent.problem !== null && <span className="field-problem small">{consent.problem}</span>}
    </Link>
  );
}

function Nothing({ show }: { show: Inbox }) {
  const { data: me } = useMe();
  if (show !== "mine") {
    return (
      <Empty title={show === "pending" ? "Nothing waits for a person" : "Nobody was asked for anything yet"}>
        <p>
          A workflow asks by <code>ctx.consent</code>: its run parks until somebody decides, for weeks if need
          be.
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="Nothing waits for your word">
      {me !== undefined && (
        <p>
          You are <Shown text={me.subject} />
          {me.roles.length > 0 && (
            <>
              {" "}
              with the {me.roles.length === 1 ? "role" : "roles"} {me.roles.join(", ")}
            </>
          )}
          .
          {!me.permissions.includes("consents:decide") &&
            " Your token may not decide: it lacks consents:decide."}
        </p>
      )}
    </Empty>
  );
}
