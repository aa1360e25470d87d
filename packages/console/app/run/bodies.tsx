import type { wire } from "@ghouls/core";
import { Shown } from "../parts/shown.tsx";
import { Moment } from "../parts/time.tsx";
import { Tree } from "../parts/tree.tsx";

/** What was asked for, and what came of it. */
export function Bodies({ run }: { run: wire.RunView }) {
  if (run.bodiesEmptiedAt !== null) {
    return (
      <p className="note">
        Retention emptied the request, the result and the error on <Moment at={run.bodiesEmptiedAt} />. Their
        digests stay.
      </p>
    );
  }
  return (
    <div className="bodies">
      <section className="sheet">
        <h2>Request</h2>
        <Tree value={run.input ?? null} name="Request" />
      </section>
      {run.error !== null && <Failure error={run.error} />}
      {(run.status === "DONE" || run.status === "COMPLETING") && (
        <section className="sheet">
          <h2>Result</h2>
          <Tree value={run.output ?? null} name="Result" />
        </section>
      )}
    </div>
  );
}

function Failure({ error }: { error: NonNullable<wire.RunView["error"]> }) {
  return (
    <section className="sheet">
      <h2>Error</h2>
      <p>
        <code className="mark-error">{error.code}</code>
        {error.step !== undefined && (
          <>
            {" in "}
            <strong>
              <Shown text={error.step} />
            </strong>
          </>
        )}
      </p>
      <p className="failure-message">
        <Shown text={`${error.name}: ${error.message}`} />
      </p>
      {error.stack !== undefined && (
        <details>
          <summary>Stack</summary>
          <pre className="stack">
            <Shown text={error.stack} />
          </pre>
        </details>
      )}
    </section>
  );
}
