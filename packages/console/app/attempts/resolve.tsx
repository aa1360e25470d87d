import type { wire } from "@ghouls/core";
import { useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Ask } from "../parts/ask.tsx";
import { useClient } from "../session/gate.tsx";
import { useMay } from "../session/me.ts";
import { wordOf, type Outcome } from "./word.ts";

const OUTCOMES: readonly (readonly [Outcome, string])[] = [
  ["succeeded", "It was done"],
  ["failed", "It failed"],
  ["cancelled", "It was cancelled, or never came to be"],
];

/** A person's audited word about a job of which nobody knows. */
export function ResolveAttempt({ attempt }: { attempt: wire.AttemptView }) {
  const client = useClient();
  const queries = useQueryClient();
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const [outcome, setOutcome] = useState<Outcome>("succeeded");
  if (!useMay("attempts:resolve")) {
    return <p className="quiet">Somebody with the permission attempts:resolve can say what became of it.</p>;
  }
  const act = async (reason: string, form: FormData): Promise<void> => {
    await client.resolveAttempt(attempt.attemptId, wordOf(outcome, reason, form));
    await queries.invalidateQueries();
  };
  return (
    <div className="actions">
      <button type="button" onClick={() => setOpen(true)}>
        Say what became of it
      </button>
      {isOpen && (
        <Ask
          title="Say what became of this job"
          verb="This is so"
          danger
          reason="How do you know? This is kept with the job."
          act={act}
          onClose={() => setOpen(false)}
        >
          <p>Your word takes the place of its service’s, and the run goes on by it.</p>
          <label htmlFor={`${id}-outcome`}>What became of it</label>
          <select
            id={`${id}-outcome`}
            value={outcome}
            onChange={({ target }) => setOutcome(target.value as Outcome)}
          >
            {OUTCOMES.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
          {outcome === "succeeded" && (
            <>
              <label htmlFor={`${id}-result`}>What it gave, as JSON</label>
              <textarea
                id={`${id}-result`}
                name="result"
                className="mono"
                rows={5}
                spellCheck={false}
                defaultValue="null"
              />
            </>
          )}
          {outcome === "failed" && (
            <>
              <label htmlFor={`${id}-code`}>Code of its error</label>
              <input id={`${id}-code`} name="code" required maxLength={200} autoComplete="off" />
            </>
          )}
        </Ask>
      )}
    </div>
  );
}
