import { createReconciler, createWorker } from "ghouls";
import { MANIFEST, crashConfig, type CrashSettings } from "./crash-workflows.ts";
import { faultPlan, type Fault, type Passing } from "./fault-plan.ts";

/**
 * A worker as a process of its own, the child's side of fault-driver.ts. It answers one invocation at a time, as Lambda
 * does, and does at its fault points what it was told.
 */

export type ToWorker =
  | {
      readonly type: "invoke";
      readonly id: number;
      readonly what: "work" | "reconcile";
      readonly event: unknown;
      readonly remainingMs: number;
    }
  | { readonly type: "faults"; readonly id: number; readonly faults: readonly Fault[] }
  | { readonly type: "remains"; readonly id: number; readonly ms: number }
  | { readonly type: "go" }
  | { readonly type: "inspect"; readonly id: number };

export type FromWorker =
  | { readonly type: "ready" }
  | { readonly type: "answer"; readonly id: number; readonly value?: unknown; readonly error?: string }
  | { readonly type: "hit"; readonly fault: Fault };

/** What a process has open, and what it has passed. */
export interface Inspection {
  readonly resources: readonly string[];
  readonly passings: readonly Passing[];
  /** Whether its SIGTERM handler is there and it goes on. */
  readonly pid: number;
}

const tell = (message: FromWorker): void => void process.send?.(message);
const signalMyself = (signal: NodeJS.Signals): void => void process.kill(process.pid, signal);

const plan = faultPlan({
  kill: () => signalMyself("SIGKILL"),
  stop: () => signalMyself("SIGSTOP"),
  hit: (fault) => tell({ type: "hit", fault }),
});
const settings = JSON.parse(process.env["CRASH_SETTINGS"] ?? "{}") as CrashSettings;
const overrides = { manifest: MANIFEST, faults: plan.injector };
// Its modules are read only where it is to be carried.
const more = settings.payments === undefined ? [] : [(await import("./crash-agent.ts")).crashAgent];
const states = settings.states === undefined ? undefined : await import("./crash-states.ts");
const config =
  states === undefined
    ? crashConfig(settings, more)
    : crashConfig(settings, [...more, states.digs], { digger: states.digger });
const worker = createWorker(config, overrides);
const reconciler = createReconciler(config, overrides);

/** Of the invocation that is on now. */
let end = 0;
let working = 0;
let told = false;
const endWhenIdle = (): void => {
  if (told && working === 0) setImmediate(() => process.exit(0));
};
process.on("SIGTERM", () => {
  told = true;
  endWhenIdle();
});
process.on("disconnect", () => signalMyself("SIGKILL"));

async function invoke(message: Extract<ToWorker, { type: "invoke" }>): Promise<unknown> {
  end = performance.now() + message.remainingMs;
  const context = {
    awsRequestId: String(message.id),
    getRemainingTimeInMillis: () => Math.max(0, Math.floor(end - performance.now())),
  };
  return message.what === "work" ? worker(message.event as never, context) : reconciler({}, context);
}

process.on("message", (message: ToWorker) => {
  switch (message.type) {
    case "go":
      plan.go();
      return;
    case "remains":
      end = performance.now() + message.ms;
      tell({ type: "answer", id: message.id });
      return;
    case "faults":
      plan.set(message.faults);
      tell({ type: "answer", id: message.id });
      return;
    case "inspect": {
      const inspection: Inspection = {
        resources: process.getActiveResourcesInfo(),
        passings: plan.passings(),
        pid: process.pid,
      };
      tell({ type: "answer", id: message.id, value: inspection });
      return;
    }
    case "invoke":
      working += 1;
      void invoke(message).then(
        (value) => answered({ type: "answer", id: message.id, value }),
        (error: unknown) => answered({ type: "answer", id: message.id, error: String(error) }),
      );
  }
});

function answered(message: FromWorker): void {
  process.send?.(message, () => {
    working -= 1;
    endWhenIdle();
  });
}

tell({ type: "ready" });
