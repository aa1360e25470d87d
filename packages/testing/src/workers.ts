import { AsyncLocalStorage } from "node:async_hooks";
import { GhoulsError, noLiveStream, parseMessage, stepLimitMs, type Clock } from "@ghouls/core";
import { Publisher, work, type ExecutionDeps } from "@ghouls/engine";
import { SLOWER } from "@ghouls/ledger/scratch";
import type { Config } from "ghouls";
import { Lifeline } from "./lifeline.ts";
import type { Taken, TestQueue } from "./queue.ts";

export interface WorkersOptions {
  readonly config: Config;
  readonly deps: Omit<ExecutionDeps, "worker" | "publisher" | "queue" | "clock" | "exit" | "faults">;
  readonly queue: TestQueue;
}

/** A worker that looks this often at its clock finds out within a second that it was lost. */
const BEAT_MS = 1_000;

/** Workers, one at a time and each in its place until it is lost: hops are the engine's own. */
export class Workers {
  readonly #options: WorkersOptions;
  readonly #inside = new AsyncLocalStorage<true>();
  readonly #crashes: { readonly runId: string; readonly step: string }[] = [];
  #number = 1;
  #carried: { readonly line: Lifeline; readonly runId: string | undefined } | undefined;

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  /** Whether this code was called by a step, or by a workflow's own code. */
  get isInside(): boolean {
    return this.#inside.getStore() === true;
  }

  /** Takes a message through a worker. Never rejects. */
  async carry(message: Taken): Promise<void> {
    const { config, queue } = this.#options;
    const line = new Lifeline();
    const { queue: name, receiptHandle } = message;
    const limitMs = stepLimitMs(config.queues[name]);
    this.#carried = { line, runId: parseMessage(message.body)?.runId };
    try {
      const [outcome] = await this.#inside.run(true, () =>
        work([message], this.#depsOn(line), {
          queue: name,
          limitMs,
          remainingMs: () => (line.isCut ? 0 : limitMs),
          endsByForce: true,
        }),
      );
      if (line.isCut) this.#number += 1;
      else if (outcome?.done === true) await queue.delete(name, receiptHandle);
    } finally {
      this.#carried = undefined;
    }
  }

  /**
   * The worker that carries a run just now is lost where it stands.
   * @throws GhoulsError invalid_request where none does
   */
  lose(): void {
    if (this.#carried === undefined) {
      throw new GhoulsError("invalid_request", "no worker carries a run at this moment", {
        fix: "Call loseWorker() from a step's function, or name the step with run.crashAfter(…).",
      });
    }
    this.#carried.line.cut();
  }

  /** Loses the worker of a run when the function of this step, or transaction, has ended, before anything of that is written. Once. */
  crashAfter(runId: string, step: string): void {
    this.#crashes.push({ runId, step });
  }

  forgetCrashes(): void {
    this.#crashes.length = 0;
  }

  #depsOn(line: Lifeline): ExecutionDeps {
    const { deps, queue: port } = this.#options;
    const ledger = line.through(deps.ledger);
    const queue = line.through(port);
    const faults: ExecutionDeps["faults"] = (point, detail) => {
      if (point !== "worker.after-step" && point !== "worker.after-transaction") return;
      const { runId } = this.#carried ?? {};
      const index = this.#crashes.findIndex((one) => one.runId === runId && one.step === detail);
      if (index === -1) return;
      this.#crashes.splice(index, 1);
      line.cut();
    };
    return {
      ...deps,
      ledger,
      queue,
      faults,
      publisher: new Publisher({ ledger, queue, faults, log: deps.log }),
      clock: clockOf(line, deps.settings.leaseMs),
      worker: `worker-${this.#number}`,
      exit: () => line.cut(),
      // A lost worker says nothing more.
      live: {
        ...noLiveStream,
        write: (event) => {
          if (!line.isCut) deps.live.write(event);
        },
        end: (hop) => deps.live.end(hop),
      },
      settings: { ...deps.settings, beatMs: Math.min(deps.settings.beatMs, BEAT_MS) },
    };
  }
}

/** A worker's own time goes as the ledger's does. One that was lost finds its lease over, and ends what it still does. */
function clockOf(line: Lifeline, leaseMs: number): Clock {
  const beganMs = Date.now();
  const passedMs = () => performance.now() / SLOWER + (line.isCut ? leaseMs : 0);
  return { monotonicMs: passedMs, wallMs: () => beganMs + passedMs() };
}
