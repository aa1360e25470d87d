import type { Verdict, wire } from "@ghouls/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNow } from "../parts/clock.tsx";
import { Ask } from "../parts/ask.tsx";
import { Shown } from "../parts/shown.tsx";
import { useClient } from "../session/gate.tsx";
import { useMe } from "../session/me.ts";
import { reasonAgainst } from "./may-decide.ts";

/**
 * The word of whoever is signed in. It names the digest of the request that stands on the page: where that has changed meanwhile,
 * the API refuses it.
 */
export function Decide({ consent }: { consent: wire.ConsentView }) {
  const client = useClient();
  const queries = useQueryClient();
  const now = useNow();
  const { data: me } = useMe();
  // With the digest that was shown when the dialog opened: what came in behind it is another request.
  const [asked, setAsked] = useState<{ verdict: Verdict; digest: string }>();
  if (me === undefined || consent.status !== "PENDING") return null;
  const against = reasonAgainst(consent, me, now);
  if (against !== undefined) return <p className="quiet">{against}</p>;
  return (
    <div className="verdicts">
      <button
        type="button"
        className="primary"
        onClick={() => setAsked({ verdict: "grant", digest: consent.digest })}
      >
        Grant
      </button>
      <button
        type="button"
        className="danger"
        onClick={() => setAsked({ verdict: "deny", digest: consent.digest })}
      >
        Deny
      </button>
      {asked !== undefined && (
        <Ask
          title={asked.verdict === "grant" ? "Grant this consent" : "Deny this consent"}
          verb={asked.verdict === "grant" ? "Grant" : "Deny"}
          danger={asked.verdict === "deny"}
          reason="A note, kept with your word"
          reasonOptional
          act={async (comment) => {
            await client.decide(consent.consentId, { ...asked, ...(comment === "" ? {} : { comment }) });
            await queries.invalidateQueries();
          }}
          onClose={() => setAsked(undefined)}
        >
          <p>
            <Shown text={consent.title} />
          </p>
          <p className="quiet small digest">
            Your word stands and is bound to <code>{asked.digest}</code>.
          </p>
        </Ask>
      )}
    </div>
  );
}
