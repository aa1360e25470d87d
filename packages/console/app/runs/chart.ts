import type { RunStatus } from "@ghouls/core";
import { toneOfRun, type Tone } from "../parts/status.tsx";

/** Runs that were admitted in one stretch of time, by their status now. */
export interface Bucket {
  readonly at: string;
  readonly statuses: Partial<Readonly<Record<RunStatus, number>>>;
}

/** A piece of a column, in shares of the chart's height from its foot. */
interface Piece {
  readonly tone: Tone;
  readonly count: number;
  readonly from: number;
  readonly to: number;
}

export interface Column {
  readonly at: string;
  readonly total: number;
  readonly pieces: readonly Piece[];
}

/** From the foot: what ended well, what did not, what goes on. */
const ORDER: readonly Tone[] = ["good", "off", "bad", "ending", "live", "wait", "person", "still"];

/** Columns of a chart of runs over time. The highest is as high as the chart. */
export function columnsOf(buckets: readonly Bucket[]): readonly Column[] {
  const counted = buckets.map(({ at, statuses }) => ({ at, tones: tonesOf(statuses) }));
  const highest = Math.max(1, ...counted.map(({ tones }) => sum(tones.values())));
  return counted.map(({ at, tones }) => {
    let foot = 0;
    const pieces = ORDER.flatMap((tone): Piece[] => {
      const count = tones.get(tone) ?? 0;
      if (count === 0) return [];
      const from = foot / highest;
      foot += count;
      return [{ tone, count, from, to: foot / highest }];
    });
    return { at, total: foot, pieces };
  });
}

function tonesOf(statuses: Bucket["statuses"]): ReadonlyMap<Tone, number> {
  const tones = new Map<Tone, number>();
  for (const [status, count] of Object.entries(statuses) as [RunStatus, number][]) {
    const tone = toneOfRun(status);
    tones.set(tone, (tones.get(tone) ?? 0) + count);
  }
  return tones;
}

const sum = (counts: Iterable<number>): number => [...counts].reduce((total, count) => total + count, 0);
