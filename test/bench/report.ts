import type { Ended } from "./ended.ts";
import type { HopCost } from "./hop-cost.ts";
import type { Lateness } from "./lateness.ts";
import type { Parked } from "./parked.ts";
import type { Latency, Phase, Round } from "./phases.ts";
import type { Options } from "./options.ts";
import { spreadOf, type Spread } from "./spread.ts";

/** Rates of one stage, and their ratios to the floor of the same round. */
export interface Summary {
  readonly floor: Spread;
  readonly admissions: Spread;
  readonly zeroStep: Spread;
  readonly tenStep: Spread;
  readonly admissionsToFloor: Spread;
  readonly zeroStepToFloor: Spread;
  readonly tenStepToFloor: Spread;
}

export interface Machine {
  readonly cpu: string;
  readonly cpus: number;
  readonly node: string;
  readonly postgres: string;
  readonly fsync: string;
  readonly synchronousCommit: string;
  /** Load of the machine's last minute when the bench began: others were at work where it is not near zero. */
  readonly loadBefore: number;
}

interface Stage {
  readonly rounds: readonly Round[];
  readonly summary: Summary;
  readonly latency: Latency;
}

/** All that a bench found. */
export interface Report {
  readonly machine: Machine;
  readonly options: Options;
  readonly connections: number;
  readonly alone: { readonly zeroStep: Phase; readonly tenStep: Phase };
  readonly before: Stage;
  readonly after: Stage;
  /** Medians after the growth, as a share of those before it; 1 is no change. */
  readonly growth: Readonly<Record<keyof Summary, number>> & { readonly p50: number };
  readonly lateness: Lateness;
  readonly hops: HopCost;
  readonly parked: Parked;
  readonly ended: Ended;
  readonly seconds: number;
}

export function summarise(rounds: readonly Round[]): Summary {
  const rates = (phase: keyof Round) => spreadOf(rounds.map((round) => round[phase].perSecond));
  const ratios = (phase: keyof Round) =>
    spreadOf(rounds.map((round) => round[phase].perSecond / round.floor.perSecond));
  return {
    floor: rates("floor"),
    admissions: rates("admissions"),
    zeroStep: rates("zeroStep"),
    tenStep: rates("tenStep"),
    admissionsToFloor: ratios("admissions"),
    zeroStepToFloor: ratios("zeroStep"),
    tenStepToFloor: ratios("tenStep"),
  };
}

export function growthOf(before: Stage, after: Stage): Report["growth"] {
  const share = (name: keyof Summary) => after.summary[name].median / before.summary[name].median;
  return {
    floor: share("floor"),
    admissions: share("admissions"),
    zeroStep: share("zeroStep"),
    tenStep: share("tenStep"),
    admissionsToFloor: share("admissionsToFloor"),
    zeroStepToFloor: share("zeroStepToFloor"),
    tenStepToFloor: share("tenStepToFloor"),
    p50: after.latency.p50Ms / before.latency.p50Ms,
  };
}
