import type { wire } from "@ghouls/core";

type Entry = wire.TimelineEntry;
type Of<Kind extends Entry["kind"]> = Extract<Entry, { kind: Kind }>;

/** A hop with what its timeline says of it: from its delivery to its end. */
export interface Hop {
  readonly seq: number;
  readonly delivery: Of<"delivery"> | undefined;
  readonly claim: Of<"claimed"> | undefined;
  readonly published: Of<"published"> | undefined;
  readonly end: Of<"settled"> | Of<"fenced"> | undefined;
  readonly workerEnd: Of<"worker_ended"> | undefined;
  readonly calls: readonly Of<"step">[];
}

/** A row of the timeline. */
export type Row =
  | { readonly kind: "admitted"; readonly at: string }
  | { readonly kind: "hop"; readonly hop: Hop }
  | { readonly kind: "call"; readonly call: Of<"step">; readonly hop: Hop }
  | { readonly kind: "fact"; readonly entry: Entry; readonly hop: Hop }
  | { readonly kind: "finished"; readonly entry: Of<"finished"> };

/** What the ledger tells of a run, hop by hop, each with its calls in their order of completion. */
export function hopsOf(entries: readonly Entry[]): readonly Hop[] {
  const bySeq = Map.groupBy(
    entries.filter((entry): entry is Entry & { enqueueSeq: number } => "enqueueSeq" in entry),
    ({ enqueueSeq }) => enqueueSeq,
  );
  return [...bySeq].toSorted(([one], [other]) => one - other).map(([seq, its]) => hopOf(seq, its));
}

function hopOf(seq: number, its: readonly Entry[]): Hop {
  const find = <Kind extends Entry["kind"]>(kind: Kind) =>
    its.findLast((entry): entry is Of<Kind> => entry.kind === kind);
  return {
    seq,
    delivery: find("delivery"),
    claim: find("claimed"),
    published: find("published"),
    end: find("settled") ?? find("fenced"),
    workerEnd: find("worker_ended"),
    calls: its.filter((entry): entry is Of<"step"> => entry.kind === "step"),
  };
}

/** The rows that are shown, those of folded hops left out. */
export function rowsOf(entries: readonly Entry[], folded: ReadonlySet<number>): readonly Row[] {
  const admitted = entries.find((entry) => entry.kind === "admitted");
  const finished = entries.findLast((entry): entry is Of<"finished"> => entry.kind === "finished");
  return [
    ...(admitted === undefined ? [] : [{ kind: "admitted" as const, at: admitted.at }]),
    ...hopsOf(entries).flatMap((hop): Row[] => [
      { kind: "hop", hop },
      ...(folded.has(hop.seq) ? [] : insideOf(hop, entries)),
    ]),
    ...(finished === undefined ? [] : [{ kind: "finished" as const, entry: finished }]),
  ];
}

/** What a hop's own row does not say already. */
const FACTS: ReadonlySet<string> = new Set(["worker_ended", "fenced", "skipped"]);

function insideOf(hop: Hop, entries: readonly Entry[]): Row[] {
  const facts = entries.filter(
    (entry) => FACTS.has(entry.kind) && "enqueueSeq" in entry && entry.enqueueSeq === hop.seq,
  );
  const rows: Row[] = [
    ...hop.calls.map((call) => ({ kind: "call" as const, call, hop })),
    ...facts.map((entry) => ({ kind: "fact" as const, entry, hop })),
  ];
  return rows.toSorted((one, other) => Date.parse(timeOf(one)) - Date.parse(timeOf(other)));
}

function timeOf(row: Row): string {
  if (row.kind === "call") return row.call.at;
  return row.kind === "fact" ? row.entry.at : "";
}

/** When a hop's own time began and ended, in milliseconds. @param now where it has not ended */
export function stretchOf(hop: Hop, now: number): { readonly from: number; readonly to: number } {
  const from = Date.parse(hop.claim?.at ?? hop.delivery?.at ?? hop.calls[0]?.startedAt ?? "");
  const end = hop.end?.at ?? hop.workerEnd?.at;
  return { from, to: Math.max(from, end === undefined ? now : Date.parse(end)) };
}

/** Where a call stands in its hop, as shares of it from 0 to 1. A wait began in an earlier one: it fills it from the left. */
export function placeOf(
  call: Of<"step">,
  { from, to }: { readonly from: number; readonly to: number },
): { readonly left: number; readonly width: number } {
  const whole = Math.max(1, to - from);
  const share = (at: number): number => Math.min(1, Math.max(0, (at - from) / whole));
  const left = share(Date.parse(call.startedAt));
  return { left, width: Math.max(0.004, share(Date.parse(call.at)) - left) };
}
