import type { wire } from "@ghouls/core";
import { Link } from "@tanstack/react-router";
import { Shown } from "../parts/shown.tsx";
import { spanText } from "../parts/spans.ts";
import { Ago } from "../parts/time.tsx";
import { placeOf, stretchOf, type Hop } from "./hops.ts";
import { askedBy, type Asked, type Owners } from "./waits.ts";

type Entry = wire.TimelineEntry;
type Call = Extract<Entry, { kind: "step" }>;

/** The beginning and the end. */
export function MomentRow({ at, text, tone }: { at: string; text: string; tone: string }) {
  return (
    <div className={`moment tone-${tone}`}>
      <span className="moment-dot" />
      <strong>{text}</strong>
      <span className="quiet small row-time">
        <Ago at={at} />
      </span>
    </div>
  );
}

const CAUSES: Readonly<Record<string, string>> = {
  admitted: "Start",
  resumed: "Resumed",
  continued: "Continued",
  recovered: "Recovered",
  contain: "Containment",
};
const OUTCOMES: Readonly<Record<string, readonly [string, string]>> = {
  done: ["done", "good"],
  failed: ["failed", "bad"],
  parked: ["parked", "wait"],
  continued: ["handed over", "still"],
  lost: ["worker lost", "bad"],
  given_back: ["given back", "still"],
  refused: ["refused", "bad"],
};

interface HopRowProps {
  readonly hop: Hop;
  readonly now: number;
  readonly isFolded: boolean;
  readonly onFold: () => void;
}

export function HopRow({ hop, now, isFolded, onFold }: HopRowProps) {
  const { delivery, claim, published, end } = hop;
  const cause = delivery?.cause ?? claim?.cause;
  const { from, to } = stretchOf(hop, now);
  return (
    <div className="hop">
      <button
        type="button"
        className="plain hop-fold"
        aria-expanded={!isFolded}
        aria-label={`Hop ${hop.seq}`}
        onClick={onFold}
      >
        <span aria-hidden="true">{isFolded ? "▸" : "▾"}</span>
      </button>
      <strong>
        Hop {hop.seq} <span className="quiet">{cause === undefined ? "" : CAUSES[cause]}</span>
      </strong>
      <HopEnd end={end} isClaimed={claim !== undefined} status={delivery?.status} />
      {claim !== undefined && (
        <span className="quiet small hop-worker mono" title={claim.worker}>
          {claim.worker}
        </span>
      )}
      {published !== undefined && published.publications > 1 && (
        <span className="quiet small nowrap">published {published.publications} times</span>
      )}
      <span className="quiet small row-time number">
        {claim !== undefined && `${spanText(to - from)} · `}
        {delivery !== undefined && <Ago at={claim?.at ?? delivery.at} />}
      </span>
    </div>
  );
}

interface HopEndProps {
  readonly end: Hop["end"];
  readonly isClaimed: boolean;
  readonly status: string | undefined;
}

function HopEnd({ end, isClaimed, status }: HopEndProps) {
  if (end?.kind === "settled") {
    const [text, tone] = OUTCOMES[end.outcome] ?? [end.outcome, "still"];
    return <span className={`pill tone-${tone}`}>{text}</span>;
  }
  if (end?.kind === "fenced") return <span className="pill tone-ending">fenced</span>;
  if (isClaimed) return <span className="pill tone-live">running</span>;
  return <span className="pill tone-still">{status === "HELD" ? "held" : "waiting"}</span>;
}

const CALLS: Readonly<Record<Call["call"], string>> = {
  step: "",
  transaction: "transaction",
  consent: "consent",
  delegate: "job",
  child: "child",
  sleep: "sleep",
  signal: "signal",
  reserve: "units",
  release: "units back",
};

interface CallRowProps {
  readonly call: Call;
  readonly hop: Hop;
  readonly owners: Owners;
  readonly now: number;
}

/** A step or a wait, with the share of its hop that it took. */
export function CallRow({ call, hop, owners, now }: CallRowProps) {
  const asked = askedBy(call, owners);
  const isWait = !["step", "transaction"].includes(call.call);
  const tone = call.outcome === "error" ? "bad" : isWait ? "wait" : "good";
  const place = placeOf(call, stretchOf(hop, now));
  const kind = CALLS[call.call];
  return (
    <div className="call">
      <span className="call-name">
        <span className={`call-mark tone-${tone}`} aria-hidden="true">
          {call.outcome === "error" ? "✕" : "✓"}
        </span>
        <Shown text={call.name} />
        {call.nth > 1 && <span className="quiet small"> #{call.nth}</span>}
        {call.scope !== "" && (
          <span className="quiet small">
            {" in "}
            <Shown text={call.scope} />
          </span>
        )}
        {kind !== "" && <span className="quiet small"> {kind}</span>}
        {asked !== undefined && <AskedLink asked={asked} />}
        {call.tries > 1 && <span className="small call-tries">{call.tries} tries</span>}
        {call.outcome === "error" && <span className="small mark-error">failed</span>}
      </span>
      <svg
        className={`call-bar tone-${tone}`}
        viewBox="0 0 1000 10"
        preserveAspectRatio="none"
        aria-hidden="true"
      >
        <rect x={place.left * 1_000} width={place.width * 1_000} y="2" height="6" />
      </svg>
      <span className="quiet small number call-span">
        {spanText(Math.max(0, Date.parse(call.at) - Date.parse(call.startedAt)))}
      </span>
    </div>
  );
}

function AskedLink({ asked }: { asked: Asked }) {
  const told = <Shown text={asked.told} />;
  return asked.kind === "consent" ? (
    <Link className="small" to="/consents/$consentId" params={{ consentId: asked.id }}>
      {told}
    </Link>
  ) : (
    <Link className="small" to="/attempts/$attemptId" params={{ attemptId: asked.id }}>
      {told}
    </Link>
  );
}

/** Something else that befell a delivery. */
export function FactRow({ entry }: { entry: Entry }) {
  return (
    <div className="fact">
      <span className="quiet">{factText(entry)}</span>
      <span className="quiet small row-time">
        <Ago at={entry.at} />
      </span>
    </div>
  );
}

function factText(entry: Entry): string {
  if (entry.kind === "worker_ended") return `The worker ${entry.worker} ended: ${entry.how}`;
  if (entry.kind === "fenced") return `Fenced (${entry.why}): what its worker still writes is refused`;
  if (entry.kind === "skipped") {
    const times = entry.times === 1 ? "A message of it was" : `${entry.times} messages of it were`;
    return `${times} skipped: ${entry.reason}`;
  }
  return entry.kind;
}
