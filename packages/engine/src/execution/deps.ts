import { LONGEST_RESIDENT_DELAY_MS, PUBLISHER_GRACE_SECONDS } from "@ghouls/core";
import type {
  AuthorityCheck,
  Claim,
  Clock,
  Codec,
  DecisionSource,
  FaultInjector,
  GrantProvider,
  Ids,
  LiveStream,
  Logger,
  Metrics,
  QueuePort,
} from "@ghouls/core";
import type { Ledger } from "@ghouls/ledger";
import type { Delegation } from "../delegation/delegation.ts";
import type { Publisher } from "../admission/publisher.ts";
import type { StepCopies } from "../evidence/step-copies.ts";
import type { Registry } from "../registry.ts";
import type { Releases } from "./releases.ts";

/** What execution needs; passed in, there is no container. */
export interface ExecutionDeps {
  readonly ledger: Ledger;
  readonly queue: Pick<QueuePort, "changeVisibility" | "changeVisibilities" | "wake">;
  /** By their names in the configuration. */
  readonly decisionSources: Readonly<Record<string, DecisionSource>>;
  readonly delegation: Delegation;
  /** Names of the configuration's queues. */
  readonly queues: readonly string[];
  /** Says whether the recorded authority of a run still holds. */
  readonly authority: AuthorityCheck;
  /** Gives hops the capabilities that their workflows list. */
  readonly grants: GrantProvider;
  /** Units of each capacity of the configuration. */
  readonly capacities: Readonly<Record<string, number>>;
  /** Publishes what a hop hands over, and what a loss creates. */
  readonly publisher: Pick<Publisher, "publish">;
  readonly registry: Registry;
  /** Code of runs that this build has not. */
  readonly releases: Releases;
  readonly codec: Codec;
  readonly ids: Ids;
  readonly clock: Clock;
  /** Chance in [0, 1), for the spread of retries only. */
  readonly chance: () => number;
  readonly faults: FaultInjector;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly logFor: (claim: Pick<Claim, "runId" | "seq">) => Logger;
  /** What `ctx.stream` says goes there. */
  readonly live: LiveStream;
  /** Writes copies of what hops journal; made by `work` for all that it carries, and none are made where it is absent. */
  readonly copies?: StepCopies;
  /** Identity of this process; its supervisor reports its end under this name. */
  readonly worker: string;
  readonly settings: ExecutionSettings;
  /** Fires when this process is about to end: nothing is claimed any more, and hops hand over. */
  readonly draining: AbortSignal;
  /** Ends the process where a step is in flight at the end of its invocation: it must not come back to life. */
  readonly exit: (why: string) => void;
}

export interface ExecutionSettings {
  /** How long replay waits for code that asks late, in milliseconds. */
  readonly replayPatienceMs: number;
  /** What a step leaves of the invocation for journaling and settling, in milliseconds. */
  readonly settleReserveMs: number;
  /** The longest that `ctx.transaction` may take, in milliseconds. */
  readonly transactionLimitMs: number;
  /** A longer delay before a step's next try parks the run, in milliseconds. */
  readonly residentDelayMs: number;
  /** How long a hop that waits for units pauses before it asks again, in milliseconds, about. */
  readonly reservePollMs: number;
  /** How long a hop waits for units before it is given back, in milliseconds; where nothing else goes on meanwhile, 0. */
  readonly residentReserveMs: number;
  /** How long code must have asked for nothing new before its run is parked: a module may be on its way. */
  readonly parkRestMs: number;
  /** How long after its timeout a step may go on before a person is asked, in milliseconds. */
  readonly overdueAfterMs: number;
  /** What a request that was sent may still do after the process has gone, in seconds. */
  readonly actsMarginSeconds: number;
  /** How long the server may still carry out a statement whose answer was lost, in milliseconds: what its role lets one take. */
  readonly lateStatementMs: number;
  /** How long a claim is believed without a heartbeat, and from one heartbeat to the next, in milliseconds. */
  readonly leaseMs: number;
  readonly beatMs: number;
  /** The loss of this number ends a run that would resume. */
  readonly maxLosses: number;
  /** Contain deliveries of one run before only a person can go on. */
  readonly maxContainDeliveries: number;
  /** How long builds without a run's workflow give it back while another build has it, in milliseconds. */
  readonly deployOverlapMs: number;
  /**
   * What one owner has for its answer, in milliseconds (design.md §3, Reconcile): in a pass of the reconciler, and each of
   * those that a hop takes something from, or gives it back to.
   */
  readonly ownerDeadlineMs: number;
  /** Owners that have their turns at once in a pass that asks somebody, and in one that asks the ledger alone. */
  readonly asksAtOnce: number;
  readonly ownersAtOnce: number;
  /** How often in a row a run is given back before it asks for a person, where it is not known what its hop may hold. */
  readonly giveBacksBeforeAttention: number;
  /** Seconds before the relay looks at a delivery that its maker publishes at once. */
  readonly publisherGraceSeconds: number;
  /** Whether each hop is replayed once after its end, to find code that is not deterministic: where workflows are written. */
  readonly replayCheck: boolean;
  /**
   * Whether a supervisor holds the leases of this process, because a debugger may keep it from beating. Time that passes
   * then fences nothing by itself, the ledger is asked; and no step times out.
   */
  readonly leaseHeld: boolean;
}

export const DEFAULT_EXECUTION_SETTINGS: ExecutionSettings = {
  replayPatienceMs: 1_000,
  settleReserveMs: 2_000,
  transactionLimitMs: 5_000,
  residentDelayMs: LONGEST_RESIDENT_DELAY_MS,
  reservePollMs: 1_000,
  residentReserveMs: Number.POSITIVE_INFINITY,
  parkRestMs: 25,
  overdueAfterMs: 60_000,
  actsMarginSeconds: 60,
  lateStatementMs: 16_000,
  leaseMs: 120_000,
  beatMs: 30_000,
  maxLosses: 3,
  maxContainDeliveries: 3,
  deployOverlapMs: 3_600_000,
  ownerDeadlineMs: 10_000,
  asksAtOnce: 100,
  ownersAtOnce: 4,
  giveBacksBeforeAttention: 10,
  publisherGraceSeconds: PUBLISHER_GRACE_SECONDS,
  replayCheck: false,
  leaseHeld: false,
};

/** The invocation that a hop lives in. */
export interface Invocation {
  /** The longest that an invocation of this function may take, in milliseconds. */
  readonly limitMs: number;
  /** What remains of this one, in milliseconds. */
  readonly remainingMs: () => number;
  /** Whether something ends this process by force at the end of it. */
  readonly endsByForce: boolean;
  /** Monotonic milliseconds when the claim was sent. */
  readonly claimedAtMs: number;
  /** When the first grant of the hop expires, in milliseconds of the ledger's time: no step starts from then on. */
  readonly holdsUntilMs?: number;
}
