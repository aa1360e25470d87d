import type { wire } from "@ghouls/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Copy } from "../parts/copy.tsx";
import { Empty } from "../parts/empty.tsx";
import { More } from "../parts/paged.tsx";
import { ProblemNote } from "../parts/problem.tsx";
import { Shown } from "../parts/shown.tsx";
import { sizeText } from "../parts/spans.ts";
import { Ago, Moment } from "../parts/time.tsx";
import { Tree } from "../parts/tree.tsx";
import { useClient } from "../session/gate.tsx";
import { runKey } from "./use-run.ts";

/** What is kept of a run for people: the record of its end, what came too late, and copies of its steps. */
export function Evidence({ runId }: { runId: string }) {
  const client = useClient();
  const query = useInfiniteQuery({
    queryKey: [...runKey(runId), "evidence"],
    queryFn: ({ pageParam, signal }) =>
      client.getEvidence(runId, { signal, ...(pageParam === null ? {} : { cursor: pageParam }) }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.nextCursor,
  });
  const first = query.data?.pages[0];
  const copies = query.data?.pages.flatMap((page) => page.copies) ?? [];
  const terminal = first?.terminal ?? undefined;
  const isBare = first?.terminal === null && first.rejected.length === 0 && copies.length === 0;
  return (
    <div className="bodies">
      <ProblemNote error={query.error} />
      {terminal !== undefined && <Terminal record={terminal} />}
      {first !== undefined && first.rejected.length > 0 && (
        <section className="sheet" aria-labelledby="rejected">
          <h2 id="rejected">Came too late</h2>
          <p className="quiet small">
            What workers brought after their claim had been taken away. It is kept, and part of nothing.
          </p>
          <ul className="kept">
            {first.rejected.map((one) => (
              <li key={`${one.enqueueSeq} ${one.kind} ${one.scope} ${one.name} ${one.nth} ${one.at}`}>
                <Kept one={one}>
                  {one.reason}, by {one.worker}
                </Kept>
              </li>
            ))}
          </ul>
        </section>
      )}
      {copies.length > 0 && (
        <section className="sheet" aria-labelledby="copies">
          <h2 id="copies">Copies of its steps</h2>
          <p className="quiet small">Made best effort, for people: the journal is what counts.</p>
          <ul className="kept">
            {copies.map((one) => (
              <li key={`${one.enqueueSeq} ${one.kind} ${one.scope} ${one.name} ${one.nth} ${one.at}`}>
                <Kept one={one}>hop {one.enqueueSeq}</Kept>
              </li>
            ))}
          </ul>
          <More query={query} />
        </section>
      )}
      {isBare && (
        <Empty title="Nothing is kept yet">
          <p>When the run has ended, the record of its end stands here, and in time the seal that has it.</p>
        </Empty>
      )}
    </div>
  );
}

function Terminal({ record }: { record: wire.TerminalRecord }) {
  return (
    <section className="sheet" aria-labelledby="terminal">
      <h2 id="terminal">The record of its end</h2>
      <p>
        <span className={`pill tone-${record.agrees ? "good" : "bad"}`}>
          {record.agrees ? "agrees" : "disagrees"}
        </span>{" "}
        {record.seal === null ? (
          <span className="quiet">not sealed yet</span>
        ) : (
          <>
            sealed as number {record.seal.number}, <Ago at={record.seal.at} />
          </>
        )}
      </p>
      {!record.agrees && (
        <p className="note tone-bad">
          The record does not say what the run’s rows say now. It is never overwritten:{" "}
          <code>ghouls doctor --full</code> tells more.
        </p>
      )}
      <p className="quiet small digest">
        Written <Moment at={record.at} />, {sizeText(record.bytes)}, digest <code>{record.digest}</code>{" "}
        <Copy text={record.digest} what="the digest" />
      </p>
      {record.record !== null && <Tree value={jsonOf(record.record)} name="The record" open={1} />}
    </section>
  );
}

/** A record's exact text as a tree; as it stands where it is no JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function Kept({ one, children }: { one: wire.RejectedResult | wire.StepCopy; children: ReactNode }) {
  return (
    <details>
      <summary>
        <span className={one.outcome === "error" ? "mark-error" : undefined}>
          <Shown text={one.name} />
        </span>{" "}
        <span className="quiet small">
          {one.kind}
          {one.nth > 1 && ` #${one.nth}`}, {children}, <Ago at={one.at} />
        </span>
      </summary>
      {one.bytes === null ? (
        <p className="quiet small">Nothing of it is kept but its digest.</p>
      ) : (
        <Tree value={one.body ?? null} name={`What ${one.name} gave`} open={2} />
      )}
    </details>
  );
}
