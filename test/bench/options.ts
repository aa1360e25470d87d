import { parseArgs } from "node:util";

/** What a bench is told. */
export interface Options {
  readonly rounds: number;
  /** Rounds after the growth. */
  readonly grownRounds: number;
  /** About how long each measured phase of a round takes. */
  readonly seconds: number;
  readonly workers: number;
  /** Messages of one invocation. */
  readonly batch: number;
  /** Admission requests that are open at the same time. */
  readonly inFlight: number;
  /** Runs a second of the latency phase, and its length. */
  readonly rate: number;
  readonly latencySeconds: number;
  readonly finished: number;
  readonly waiting: number;
  /** Timers whose lateness is measured. */
  readonly timers: number;
  /** Journal entries of the runs whose hops are measured. */
  readonly entries: number;
  /** Runs that stand in waits. */
  readonly parked: number;
  /** Ended runs beside which the passes of evidence and retention are measured. */
  readonly ended: number;
  /** Runs that are counted one after another, of each workflow. */
  readonly counted: number;
  readonly json: boolean;
}

const FULL = {
  rounds: 5,
  "grown-rounds": 3,
  seconds: 4,
  workers: 2,
  batch: 5,
  "in-flight": 32,
  rate: 20,
  "latency-seconds": 20,
  finished: 200_000,
  waiting: 50_000,
  timers: 500,
  entries: 5_000,
  parked: 100_000,
  ended: 1_000_000,
  counted: 50,
};
type Name = keyof typeof FULL;

const QUICK: Readonly<Record<Name, number>> = {
  ...FULL,
  rounds: 1,
  "grown-rounds": 1,
  seconds: 1,
  "latency-seconds": 2,
  finished: 2_000,
  waiting: 500,
  timers: 20,
  entries: 200,
  parked: 400,
  ended: 400,
  counted: 10,
};

const SAYS: Readonly<Record<Name, string>> = {
  rounds: "rounds before the growth",
  "grown-rounds": "rounds after it",
  seconds: "about how long each phase of a round takes",
  workers: "worker processes at the same time",
  batch: "messages of one invocation",
  "in-flight": "admission requests that are open at the same time",
  rate: "runs a second of the latency phase",
  "latency-seconds": "its length",
  finished: "finished runs of the growth",
  waiting: "waiting runs of the growth: queued, and not due",
  timers: "timers of two seconds whose lateness is measured",
  entries: "journal entries of the runs whose hops are measured",
  parked: "parked runs beside which the reconciler's looks are measured",
  ended: "ended runs beside which the looks of evidence and retention are measured",
  counted: "runs whose statements are counted one after another",
};

export const HELP = `npm run bench -- [options]

Admits and completes runs on the embedded parts (PostgreSQL with fsync, SQS, API, workers, load), each a process of its
own, and compares them with the bare statements of a zero-step run on as many connections, in interleaved rounds.

${(Object.keys(FULL) as Name[])
  .map((name) => `  --${name} <n>`.padEnd(24) + `${SAYS[name]}; ${FULL[name]}, with --quick ${QUICK[name]}`)
  .join("\n")}
  --quick               a small one, for a test: its numbers say little, its counts of statements are facts
  --json                prints only JSON
  --help                this

Everything stands in a temporary folder (TMPDIR) and on loopback, and is gone at the end. Use an idle machine.
`;

/** Reads the arguments; "help" where they ask for it. @throws Error for one that is not taken */
export function readOptions(args: readonly string[]): Options | "help" {
  const names = Object.keys(FULL) as Name[];
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...Object.fromEntries(names.map((name) => [name, { type: "string" } as const])),
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values["help"] === true) return "help";
  const quick = values["quick"] === true;
  const number = (name: Name): number => {
    const text = (values as Readonly<Record<string, unknown>>)[name];
    if (typeof text !== "string") return (quick ? QUICK : FULL)[name];
    const value = Number(text);
    if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} takes a whole number from 1`);
    return value;
  };
  return {
    rounds: number("rounds"),
    grownRounds: number("grown-rounds"),
    seconds: number("seconds"),
    workers: number("workers"),
    batch: number("batch"),
    inFlight: number("in-flight"),
    rate: number("rate"),
    latencySeconds: number("latency-seconds"),
    finished: number("finished"),
    waiting: number("waiting"),
    timers: number("timers"),
    entries: number("entries"),
    parked: number("parked"),
    ended: number("ended"),
    counted: number("counted"),
    json: values["json"] === true,
  };
}
