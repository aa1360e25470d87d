import { Empty } from "../parts/empty.tsx";
import { ProblemNote } from "../parts/problem.tsx";
import { Shown } from "../parts/shown.tsx";
import { Ago } from "../parts/time.tsx";
import { Tree } from "../parts/tree.tsx";
import type { Live } from "./use-live.ts";

/** What a run says while it is carried: tokens as they come, and what it tells. */
export function LiveView({ live, isOver }: { live: Live; isOver: boolean }) {
  const { channels, emitted, gapAt, error } = live;
  const isSilent = channels.size === 0 && emitted.length === 0;
  return (
    <div className="live">
      <ProblemNote error={error} />
      {gapAt !== undefined && (
        <p className="note">
          Something of the live channel was missed or has expired. What the ledger knows of that time is in
          the timeline.
        </p>
      )}
      {[...channels].map(([name, stream]) => (
        <section key={name} className="sheet" aria-label={`Channel ${name}`}>
          <h3>
            <Shown text={name} />
          </h3>
          <div className="stream" role="log" aria-live="off">
            {stream.isCut && <span className="quiet">… </span>}
            <Shown text={stream.text} />
          </div>
        </section>
      ))}
      {emitted.length > 0 && (
        <section className="sheet" aria-label="Told events">
          <h3>Told</h3>
          <ol className="told">
            {emitted.map((event, index) => (
              <li key={index}>
                <span className="told-head">
                  <strong>
                    <Shown text={event.name} />
                  </strong>
                  <span className="quiet small">
                    hop {event.enqueueSeq}, <Ago at={event.at} />
                  </span>
                </span>
                {event.data !== null && event.data !== undefined && (
                  <Tree value={event.data} name={`What ${event.name} tells`} open={1} />
                )}
              </li>
            ))}
          </ol>
        </section>
      )}
      {isSilent && error === undefined && (
        <Empty title={isOver ? "Nothing is kept of what it said" : "It has said nothing yet"}>
          <p>
            A workflow speaks by <code>ctx.stream</code> and <code>ctx.emit</code>; what it streams is live
            only.
          </p>
        </Empty>
      )}
    </div>
  );
}
