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
  const consents = run.waits.filter(({ consentId }) => consentId !== null);
  return (
    <div className="notes">
      {sentence !== undefined && (
        <p className="note tone-still sentence">
          <Shown text={sentence} />{" "}
          {consents.map(({ consentId }) => (
            <a key={consentId} href={`/consents/${consentId}`}>
              Look at it
            </a>
          ))}
          {run.waits
            .filter(({ attemptId }) => attemptId !== null)
            .map(({ attemptId }) => (
              <a key={attemptId} href={`/attempts/${attemptId}`}>
                Look at it
              </a>
            ))}
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

/** Who asked for it, and when. */
export function Head({ run }: { run: wire.RunView }) {
  const labels = Object.entries(run.labels);
  return (
    <div className="sheet">
      <Facts>
        <Fact name="Run">
          <code>{run.runId}</code> <Copy text={run.runId} what="the run’s id" />
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
