import { ProblemError } from "@ghouls/client";
import type { wire } from "@ghouls/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Empty } from "../parts/empty.tsx";
import { Fact, Facts } from "../parts/facts.tsx";
import { ProblemNote } from "../parts/problem.tsx";
import { Shown } from "../parts/shown.tsx";
import { AttemptStatusPill } from "../parts/status.tsx";
import { Ago, Left, Moment } from "../parts/time.tsx";
import { Tree } from "../parts/tree.tsx";
import { useClient } from "../session/gate.tsx";
import { ResolveAttempt } from "./resolve.tsx";
import "../consents/consents.css";

const route = getRouteApi("/attempts/$attemptId");
const LOOK_MS = 4_000;
const OVER: readonly string[] = ["SUCCEEDED", "FAILED", "CANCELLED"];

/** One delegated job: what was sent to whom, what is known of it, and a person's word where nobody knows. */
export function AttemptPage() {
  const { attemptId } = route.useParams();
  const client = useClient();
  const { data: attempt, error } = useQuery({
    queryKey: ["attempt", attemptId],
    queryFn: ({ signal }) => client.getAttempt(attemptId, { signal }),
    refetchInterval: ({ state }) => (OVER.includes(state.data?.status ?? "") ? false : LOOK_MS),
  });
  if (error instanceof ProblemError && error.status === 404) {
    return (
      <div className="page narrow">
        <h1>There is no such job</h1>
        <Empty title={`No job that you may see has the id ${attemptId}`}>
          <Link to="/attempts">Uncertain jobs</Link>
        </Empty>
      </div>
    );
  }
  return (
    <div className="page narrow">
      <ProblemNote error={error} />
      {attempt !== undefined && <Known attempt={attempt} />}
    </div>
  );
}

function Known({ attempt }: { attempt: wire.AttemptView }) {
  return (
    <>
      <div className="page-head">
        <h1>
          <Shown text={attempt.name} /> <span className="quiet">{attempt.service}</span>
        </h1>
        <AttemptStatusPill status={attempt.status} />
      </div>
      <Told attempt={attempt} />
      {attempt.status === "UNCERTAIN" && <ResolveAttempt attempt={attempt} />}
      <section className="sheet">
        <h2>What was sent</h2>
        <Tree value={attempt.request ?? null} name="What was sent" />
        <p className="quiet small digest">
          {attempt.submissions === 0
            ? "Not sent yet"
            : attempt.submissions === 1
              ? "Sent once"
              : `Sent ${attempt.submissions} times`}
          , always under the one key <code>{attempt.idempotencyKey}</code>; digest{" "}
          <code>{attempt.digest}</code>
        </p>
      </section>
      {attempt.status === "SUCCEEDED" && (
        <section className="sheet">
          <h2>Result</h2>
          <Tree value={attempt.result ?? null} name="Result" />
        </section>
      )}
      {attempt.error !== null && (
        <section className="sheet">
          <h2>Error</h2>
          <p>
            <code className="mark-error">
              <Shown text={attempt.error.code} />
            </code>{" "}
            <Shown text={attempt.error.message} />
          </p>
        </section>
      )}
      <Particulars attempt={attempt} />
    </>
  );
}

/** What is known and what is not, in sentences. */
function Told({ attempt }: { attempt: wire.AttemptView }) {
  const { uncertain, trouble, contradiction, cancelling, nextLookAt } = attempt;
  return (
    <>
      {uncertain !== null && (
        <p className="note tone-person">
          <strong>Nobody knows what became of it.</strong> <Shown text={uncertain} />.
          {nextLookAt !== null && (
            <>
              {" "}
              It is looked up again <Left until={nextLookAt} />, and not sent again unless that is proven to
              be safe.
            </>
          )}
        </p>
      )}
      {trouble !== null && (
        <p className="note tone-wait">
          <strong>The last look-up came to nothing</strong> <Ago at={trouble.at} />:{" "}
          <Shown text={trouble.why} />
        </p>
      )}
      {contradiction !== null && (
        <p className="note tone-bad">
          <strong>Its service said something else after its end.</strong> <Shown text={contradiction} />
        </p>
      )}
      {cancelling !== null && attempt.closedAt === null && (
        <p className="note tone-ending">It is to be cancelled: {CANCELLING[cancelling]}.</p>
      )}
    </>
  );
}

const CANCELLING = {
  deadline: "its deadline has passed",
  ended: "its run has ended, or is ending",
  restart: "its run began anew",
} as const;

function Particulars({ attempt }: { attempt: wire.AttemptView }) {
  const times = [
    ["Made", attempt.createdAt],
    ["First acknowledged", attempt.acknowledgedAt],
    ["Last heartbeat", attempt.heartbeatAt],
    ["Closed", attempt.closedAt],
  ] as const;
  return (
    <div className="sheet">
      <Facts>
        <Fact name="Run">
          <Link to="/runs/$runId" params={{ runId: attempt.runId }}>
            {attempt.workflow}
          </Link>
        </Fact>
        <Fact name="Made for">
          {attempt.executor.adapter} {attempt.executor.version}
        </Fact>
        {times.map(([name, at]) => (
          <Fact key={name} name={name}>
            {at !== null && <Moment at={at} />}
          </Fact>
        ))}
        <Fact name="Closed by">{attempt.closedBy !== null && <Shown text={attempt.closedBy} />}</Fact>
        <Fact name="Deadline">
          {attempt.deadlineAt !== null && attempt.closedAt === null && <Left until={attempt.deadlineAt} />}
        </Fact>
      </Facts>
    </div>
  );
}
