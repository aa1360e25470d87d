/**
 * The legal moves of every noun (design.md §2). This file is the only list of states in the project: the type
 * unions, the guards that statements carry, the tests of every pair and the diagram in the README derive from it.
 */

type Moves = Readonly<Record<string, readonly string[]>>;

const AWAITING_DURABLE_NEXT = ["QUEUED", "FAILING", "CANCELLING"] as const;

/** Run. `DONE` and `FAILED` directly from RUNNING only where there is nothing to contain. */
export const RUN_MOVES = {
  QUEUED: ["RUNNING", "FAILING", "CANCELLING"],
  RUNNING: [
    "AWAITING_HARDWARE",
    "AWAITING_CONSENT",
    "AWAITING_DELEGATE",
    "AWAITING_CHILD",
    "AWAITING_SIGNAL",
    "AWAITING_TIMER",
    "QUEUED",
    "COMPLETING",
    "DONE",
    "FAILING",
    "FAILED",
    "CANCELLING",
  ],
  AWAITING_HARDWARE: ["RUNNING", "QUEUED", "FAILING", "CANCELLING"],
  AWAITING_CONSENT: AWAITING_DURABLE_NEXT,
  AWAITING_DELEGATE: AWAITING_DURABLE_NEXT,
  AWAITING_CHILD: AWAITING_DURABLE_NEXT,
  AWAITING_SIGNAL: AWAITING_DURABLE_NEXT,
  AWAITING_TIMER: AWAITING_DURABLE_NEXT,
  COMPLETING: ["DONE"],
  FAILING: ["FAILED"],
  CANCELLING: ["CANCELLED"],
  DONE: [],
  FAILED: [],
  CANCELLED: [],
} as const satisfies Moves;

/** Delivery. FENCED takes an open delivery away: cancel, deadline, an ending or an expired hold. */
export const DELIVERY_MOVES = {
  HELD: ["PENDING", "FENCED"],
  PENDING: ["CLAIMED", "FENCED"],
  CLAIMED: ["SETTLED", "FENCED"],
  SETTLED: [],
  FENCED: [],
} as const satisfies Moves;

const ATTEMPT_FINAL = ["SUCCEEDED", "FAILED", "CANCELLED"] as const;

/** Attempt: one delegated job at another service. */
export const ATTEMPT_MOVES = {
  DEFINED: ["SUBMITTING", "CANCELLED"],
  SUBMITTING: ["SUBMITTED", "RUNNING", ...ATTEMPT_FINAL, "UNCERTAIN"],
  SUBMITTED: ["RUNNING", ...ATTEMPT_FINAL, "UNCERTAIN"],
  RUNNING: [...ATTEMPT_FINAL, "UNCERTAIN"],
  UNCERTAIN: ["SUBMITTING", "SUBMITTED", "RUNNING", ...ATTEMPT_FINAL],
  SUCCEEDED: [],
  FAILED: [],
  CANCELLED: [],
} as const satisfies Moves;

/** Consent: an approval. */
export const CONSENT_MOVES = {
  PENDING: ["GRANTED", "DENIED", "EXPIRED", "CANCELLED"],
  GRANTED: [],
  DENIED: [],
  EXPIRED: [],
  CANCELLED: [],
} as const satisfies Moves;

export const MOVES = {
  run: RUN_MOVES,
  delivery: DELIVERY_MOVES,
  attempt: ATTEMPT_MOVES,
  consent: CONSENT_MOVES,
} as const;

export type Noun = keyof typeof MOVES;
export type StateOf<N extends Noun> = keyof (typeof MOVES)[N] & string;

export type RunStatus = StateOf<"run">;
export type DeliveryStatus = StateOf<"delivery">;
export type AttemptStatus = StateOf<"attempt">;
export type ConsentStatus = StateOf<"consent">;

/** Why a delivery was settled. */
export const DELIVERY_OUTCOMES = [
  "done",
  "failed",
  "parked",
  "continued",
  "lost",
  "given_back",
  "refused",
] as const;
export type DeliveryOutcome = (typeof DELIVERY_OUTCOMES)[number];

/** Why a delivery was made. */
export const DELIVERY_CAUSES = ["admitted", "resumed", "continued", "recovered", "contain"] as const;
export type DeliveryCause = (typeof DELIVERY_CAUSES)[number];

/** All states of a noun, in the order of the table. */
export function statesOf<N extends Noun>(noun: N): StateOf<N>[] {
  return Object.keys(MOVES[noun]) as StateOf<N>[];
}

/** Whether the table has the move. A state does not move to itself. */
export function canMove<N extends Noun>(noun: N, from: StateOf<N>, to: StateOf<N>): boolean {
  return (MOVES[noun] as Moves)[from]?.includes(to) ?? false;
}

/** The states from which the table allows a move to `to`. */
export function sourcesOf<N extends Noun>(noun: N, to: StateOf<N>): StateOf<N>[] {
  return statesOf(noun).filter((from) => canMove(noun, from, to));
}

/** The states that never move. */
export function terminalStatesOf<N extends Noun>(noun: N): StateOf<N>[] {
  return statesOf(noun).filter((state) => ((MOVES[noun] as Moves)[state] ?? []).length === 0);
}

/** The open states of a delivery: at most one per run. */
export const OPEN_DELIVERY = statesOf("delivery").filter(
  (state) => !terminalStatesOf("delivery").includes(state),
);

/** The states of a run that has not ended. */
export const OPEN_RUN = statesOf("run").filter((state) => !terminalStatesOf("run").includes(state));

/** Those in which it goes on by its code: a cancel still decides about it, and a pause holds it. */
export const GOING_ON_RUN = sourcesOf("run", "CANCELLING");

/** Those in which its end is decided, and what it has started is contained. */
export const ENDING_RUN = OPEN_RUN.filter((state) => !GOING_ON_RUN.includes(state));

export function isTerminalRun(status: RunStatus): boolean {
  return terminalStatesOf("run").includes(status);
}

/**
 * A list of states as SQL literals, `'A', 'B'`, so that partial indexes are used and no status list is written twice.
 * States are identifiers of this file; anything else is refused.
 */
export function sqlStates(states: readonly string[]): string {
  for (const state of states) {
    if (!/^[A-Z_]+$/.test(state)) throw new TypeError(`not a state: ${state}`);
  }
  return states.map((state) => `'${state}'`).join(", ");
}

/** The diagram of the documentation, in Mermaid's state notation. */
export function diagram(noun: Noun): string {
  const lines = Object.entries(MOVES[noun] as Moves).flatMap(([from, next]) =>
    next.length === 0 ? [`    ${from} --> [*]`] : next.map((to) => `    ${from} --> ${to}`),
  );
  return ["stateDiagram-v2", `    [*] --> ${statesOf(noun)[0]}`, ...lines].join("\n");
}
