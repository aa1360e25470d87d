import type { Clock, HintState, WakeHint } from "@ghouls/core";
import {
  createLowering,
  reconcileWhenDue,
  type ReconcileReport,
  type ReconcileWhenDueOptions,
  type Skipped,
} from "@ghouls/engine";
import { testDynamo, type TestDynamo } from "./dynamodb.ts";
import { testWorld, type World, type WorldOptions } from "./world.ts";

/** A world whose openings lower the hint in a DynamoDB server, and whose reconciler reads it; both have the test's clock. */
export interface HintWorld extends World {
  readonly dynamo: TestDynamo;
  readonly hint: WakeHint;
  readonly clock: Clock;
  /** Moves the ledger's clock and the processes' on. */
  pass(seconds: number): Promise<void>;
  /** One invocation of the scheduled reconciler. */
  invoke(overrides?: Partial<ReconcileWhenDueOptions>): Promise<ReconcileReport | Skipped>;
  /** A minute and an invocation, so many times; answers in which of them the ledger was looked at. */
  minutes(count: number): Promise<number[]>;
  /** The world after a long time in which nothing was open: nobody remembers a lowering, and the hint lies an hour ahead. */
  idle(): Promise<void>;
  state(): Promise<HintState | undefined>;
}

/** Longer than a slow machine takes: what must not be waited for is bound by the hint's own client. */
const PATIENCE_MS = 60_000;

export async function hintWorld(options: Omit<WorldOptions, "beforeOpening">): Promise<HintWorld> {
  const dynamo = await testDynamo();
  const hint = dynamo.open();
  const start = Date.now();
  let moved = 0;
  const clock: Clock = { wallMs: () => start + moved, monotonicMs: () => moved };
  let lowering: () => Promise<void> = () => Promise.resolve();
  const world = await testWorld({ ...options, beforeOpening: () => lowering() });
  lowering = createLowering({ hint, clock, log: world.deps.log, patienceMs: PATIENCE_MS });

  const pass: HintWorld["pass"] = async (seconds) => {
    moved += seconds * 1_000;
    await world.advance(seconds);
  };
  const invoke: HintWorld["invoke"] = (overrides = {}) =>
    reconcileWhenDue({
      ...world.deps,
      queue: world.queue,
      hint,
      clock,
      pageSize: 100,
      pageBudgetMs: 100,
      remainingMs: () => 60_000,
      hintPatienceMs: PATIENCE_MS,
      ...overrides,
    });
  const minutes: HintWorld["minutes"] = async (count) => {
    const looked: number[] = [];
    for (let minute = 1; minute <= count; minute += 1) {
      await pass(60);
      if (!("skipped" in (await invoke()))) looked.push(minute);
    }
    return looked;
  };
  return {
    ...world,
    dynamo,
    hint,
    clock,
    pass,
    invoke,
    minutes,
    state: () => hint.read(),
    idle: async () => {
      dynamo.be("up");
      await world.reset();
      await pass(7_200);
      await invoke();
    },
  };
}
