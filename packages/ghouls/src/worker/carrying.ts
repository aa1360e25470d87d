import { setTimeout as delay } from "node:timers/promises";
import { ENDLESS_MS, stepLimitMs } from "@ghouls/core";
import { work, type ExecutionDeps } from "@ghouls/engine";
import { startPolling } from "../processes/polling.ts";
import type { Runtime } from "../runtime.ts";
import { ledgerHindrance, queueHindrance, type Hindrance } from "./hindrance.ts";
import type { ServedQueue } from "./order.ts";

/** The first pause before somebody is asked again, in milliseconds; doubles up to 16 times it. */
const PAUSE_MS = 250;

/**
 * Waits until the ledger and the queues answer, and says what it waits for.
 * @throws the refusal that waiting does not mend
 */
export async function untilReachable(
  { announce, queue, log }: Pick<Runtime, "announce" | "queue" | "log">,
  queues: readonly ServedQueue[],
  ending: AbortSignal,
  refuse: (hindrance: Hindrance) => Error,
): Promise<void> {
  const patiently = async (
    ask: () => Promise<unknown>,
    why: (error: unknown) => Hindrance,
  ): Promise<void> => {
    for (let tries = 1; !ending.aborted; tries += 1) {
      try {
        await ask();
        return;
      } catch (error) {
        const hindrance = why(error);
        if (!hindrance.passes) throw refuse(hindrance);
        log.warn("this worker takes nothing yet: it waits", {
          why: hindrance.message,
          ...(hindrance.fix === undefined ? {} : { fix: hindrance.fix }),
        });
      }
      await pause(tries, ending);
    }
  };
  await patiently(announce, ledgerHindrance);
  for (const { name } of queues) {
    // A question that takes no message along: the visibility of one that nobody holds.
    await patiently(
      () => queue.receive(name, { max: 1, waitSeconds: 0, visibilitySeconds: 0 }),
      (error) => queueHindrance(name, error),
    );
  }
}

/** What a process does while it is a worker. */
export interface Carrying {
  /** Takes nothing more, and resolves when all that is under way has ended by itself, however long that takes. */
  stop(): Promise<void>;
}

/** Takes runs from the queues and carries them. Nothing ends this process by force, so no claim of it is over by time. */
export function startCarrying(
  {
    queue: port,
    ledger,
    log,
    metrics,
    settings,
  }: Pick<Runtime, "queue" | "ledger" | "log" | "metrics" | "settings">,
  deps: ExecutionDeps,
  queues: readonly ServedQueue[],
  waitSeconds: number,
): Carrying {
  let away = false;
  /** While the ledger is away nothing is received: each receipt brings a message nearer to the dead letters. */
  const untilLedger = async (): Promise<void> => {
    for (let tries = 1; away && !deps.draining.aborted; tries += 1) {
      try {
        await ledger.deliveries.unclaimed([]);
        away = false;
        log.info("the ledger answers again: this worker goes on");
      } catch (error) {
        if (tries === 1)
          log.warn("the ledger is away: this worker takes nothing", { why: ledgerHindrance(error).message });
        await pause(tries, deps.draining);
      }
    }
  };
  const pollings = queues.map(({ name, settings: queueSettings, atOnce }) =>
    startPolling({
      queue: name,
      port,
      waitSeconds,
      visibilitySeconds: Math.ceil(settings.leaseMs / 1_000),
      // A message whose run is carried for days is held by the heartbeat; the others of its batch need not be.
      apart: true,
      room: (_batches, messages) => Math.min(queueSettings.batchSize, atOnce - messages),
      ready: untilLedger,
      log: (text) => log.warn(text, { queue: name }),
      handle: async (messages) => {
        const outcomes = await work(messages, deps, {
          queue: name,
          limitMs: stepLimitMs(queueSettings),
          remainingMs: () => ENDLESS_MS,
          endsByForce: false,
        });
        metrics.flush();
        if (outcomes.some(({ reason }) => reason === "unclaimed")) away = true;
        return { deleted: outcomes.filter(({ done }) => done).map(({ messageId }) => messageId), ok: true };
      },
    }),
  );
  return {
    stop: async () => {
      await Promise.all(pollings.map((polling) => polling.stop()));
    },
  };
}

async function pause(tries: number, ending: AbortSignal): Promise<void> {
  const ms = PAUSE_MS * 2 ** Math.min(tries - 1, 4);
  await delay(ms, undefined, { signal: ending }).catch(() => undefined);
}
