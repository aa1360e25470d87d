import type { wire } from "@ghouls/core";
import { Link } from "@tanstack/react-router";
import { useNow } from "../parts/clock.tsx";
import { Copy } from "../parts/copy.tsx";
import { Fact, Facts } from "../parts/facts.tsx";
import { Shown } from "../parts/shown.tsx";
import { Ago, Left, Moment, Span } from "../parts/time.tsx";
import { sentenceOf } from "./sentence.ts";

interface SentenceProps {
  readonly run: wire.RunView;
  readonly entries: readonly wire.TimelineEntry[];
}

/** What it waits for, and what a person should look at. */
export function Sentence({ run, entries }: SentenceProps) {
  const now = useNow();
  const sentence = sentenceOf(run, entries, now);
  if (sentence === undefined && run.error === null && run.quarantine === null && run.attention === null) {
    return null;
  }
  return (
    <div className="notes">
      {sentence !== undefined && (
        <p className="note tone-still sentence">
          <Shown text={sentence} />{" "}
          {run.waits.map(({ consentId, attemptId, childRunId }) => (
            <WaitLink key={consentId ?? attemptId ?? childRunId} {...{ consentId, attemptId, childRunId }} />
          ))}
        </p>
      )}
      {run.error !== null && (
        <p className="note tone-bad">
          <code>{run.error.code}</code>{" "}
          {run.error.step !== undefined && (
            <>
              in <Shown text={run.error.step} />:{" "}
            </>
          )}
          <Shown text={firstOf(run.error.message)} />
        </p>
      )}
      {run.quarantine !== null && (
        <p className="note tone-bad">
          <strong>Quarantine</strong> <Shown text={run.quarantine.reason} />{" "}
          <span className="quiet small">
            <Ago at={run.quarantine.at} />
          </span>
        </p>
      )}
      {run.attention !== null && (
        <p className="note tone-person">
          <strong>Attention</strong> <Shown text={run.attention.reason} />{" "}
          <span className="quiet small">
            <Ago at={run.attention.at} />
          </span>
        </p>
      )}
    </div>
  );
}

/** Where more stands about what it waits for. */
function WaitLink({
  consentId,
  attemptId,
  childRunId,
}: Pick<wire.OpenWait, "consentId" | "attemptId" | "childRunId">) {
  if (consentId !== null) {
    return (
      <Link to="/consents/$consentId" params={{ consentId }}>
        Look at the consent
      </Link>
    );
  }
  if (attemptId !== null) {
    return (
      <Link to="/attempts/$attemptId" params={{ attemptId }}>
        Look at the job
      </Link>
    );
  }
  if (childRunId === null) return null;
  return (
    <Link to="/runs/$runId" params={{ runId: childRunId }}>
      Look at the child
    </Link>
  );
}

/** The beginning of a message; the whole stands below. */
const firstOf = (message: string): string => (message.length <= 300 ? message : `${message.slice(0, 300)}…`);

/** Who asked for it, and when. */
export function Head({ run }: { run: wire.RunView }) {
  const labels = Object.entries(run.labels);
  return (
    <div className="sheet">
      <Facts>
        <Fact name="Run">
          <code className="nowrap">{run.runId}</code> <Copy text={run.runId} what="the run’s id" />
        </Fact>
        <Fact name="Asked for">
          <Moment at={run.createdAt} /> by <Shown text={run.requestedBy} />
        </Fact>
        <Fact name={run.finishedAt === null ? "Open for" : "Took"}>
          <Span from={run.createdAt} to={run.finishedAt} />
        </Fact>
        <Fact name="Deadline">
          {run.deadlineAt !== null && run.finishedAt === null && <Left until={run.deadlineAt} />}
        </Fact>
        <Fact name="Queue">
          {run.queue}, priority {run.priority}
        </Fact>
        <Fact name="Agent">{run.agent !== null && <Shown text={run.agent} />}</Fact>
        <Fact name="Idempotency key">
          {run.idempotencyKey !== null && <Shown text={run.idempotencyKey} className="mono" />}
        </Fact>
        <Fact name="Digest">
          <code title={run.workflow.digest}>{run.workflow.digest.slice(0, 19)}…</code>
        </Fact>
        <Fact name="Labels">
          {labels.length > 0 &&
            labels.map(([key, value]) => (
              <Link key={key} to="/runs" search={{ label: [`${key}:${value}`] }} className="label">
                <Shown text={`${key}:${value}`} />
              </Link>
            ))}
        </Fact>
        <Fact name="Related">
          <Related run={run} />
        </Fact>
      </Facts>
    </div>
  );
}

function Related({ run }: { run: wire.RunView }) {
  const others = [
    ["Parent", run.parentRunId],
    ["Redrive of", run.redriveOf],
    ["Redriven as", run.redrivenAs],
  ] as const;
  return (
    <span className="related">
      {others.map(
        ([name, runId]) =>
          runId !== null && (
            <Link key={name} to="/runs/$runId" params={{ runId }}>
              {name}
            </Link>
          ),
      )}
      <Link to="/runs" search={{ parent: run.runId }}>
        Children
      </Link>
    </span>
  );
}
