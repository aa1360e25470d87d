import type { wire } from "@ghouls/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Choice } from "../parts/choice.tsx";
import { Empty } from "../parts/empty.tsx";
import { More } from "../parts/paged.tsx";
import { ProblemNote } from "../parts/problem.tsx";
import { Shown } from "../parts/shown.tsx";
import { AttemptStatusPill } from "../parts/status.tsx";
import { Ago } from "../parts/time.tsx";
import { useClient } from "../session/gate.tsx";
import type { AttemptShow } from "./search.ts";
import "../consents/consents.css";

const route = getRouteApi("/attempts");
const LOOK_MS = 5_000;

const SHOWN: readonly (readonly [AttemptShow, string])[] = [
  ["uncertain", "Uncertain"],
  ["RUNNING", "Running"],
  ["SUBMITTED", "Submitted"],
  ["FAILED", "Failed"],
  ["all", "All"],
];

/** Jobs at other services; first those of which nobody knows what became of them. */
export function AttemptsPage() {
  const { show = "uncertain" } = route.useSearch();
  const navigate = useNavigate();
  const client = useClient();
  const query = useInfiniteQuery({
    queryKey: ["attempts", show],
    queryFn: ({ pageParam, signal }) =>
      client.listAttempts({
        signal,
        ...(show === "all" ? {} : { status: show === "uncertain" ? "UNCERTAIN" : show }),
        ...(pageParam === null ? {} : { cursor: pageParam }),
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
    refetchInterval: LOOK_MS,
  });
  const attempts = query.data?.pages.flatMap((page) => page.attempts) ?? [];
  return (
    <div className="page narrow">
      <div className="page-head">
        <h1>Jobs at other services</h1>
      </div>
      <Choice
        name="Which jobs"
        values={SHOWN}
        chosen={show}
        onChoose={(next) =>
          void navigate({ to: "/attempts", search: next === "uncertain" ? {} : { show: next } })
        }
      />
      <ProblemNote error={query.error} />
      {attempts.length > 0 && (
        <ul className="cards" aria-label="Jobs">
          {attempts.map((attempt) => (
            <li key={attempt.attemptId}>
              <Card attempt={attempt} />
            </li>
          ))}
        </ul>
      )}
      <More query={query} />
      {query.data !== undefined && attempts.length === 0 && (
        <Empty title={show === "uncertain" ? "No job is uncertain" : "There is no such job"}>
          <p>
            {show === "uncertain"
              ? "A job is uncertain when its service cannot tell what became of it. It is looked up, and never sent twice."
              : "A workflow delegates one by ctx.delegate."}
          </p>
        </Empty>
      )}
    </div>
  );
}

function Card({ attempt }: { attempt: wire.AttemptSummary }) {
  const { attemptId, uncertain, trouble } = attempt;
  const why = uncertain ?? trouble?.why;
  return (
    <Link to="/attempts/$attemptId" params={{ attemptId }} className="card">
      <span className="card-title">
        <Shown text={attempt.name} />
      </span>
      <AttemptStatusPill status={attempt.status} />
      <span className="quiet small">
        {attempt.service} for {attempt.workflow}, made <Ago at={attempt.createdAt} />
      </span>
      <span />
      {why !== undefined && (
        <span className="small">
          <Shown text={why} />
        </span>
      )}
    </Link>
  );
}
