import { GhoulsError, durationMs, wire, type Duration, type WorkflowDefinition } from "@ghouls/core";
import { endsWithin, type AdmissionRequest } from "@ghouls/engine";
import { principalOf, type Actor } from "./actor.ts";
import { openDatabase } from "./database.ts";
import { Driver } from "./driver.ts";
import { refuseFakedTimers } from "./faked-timers.ts";
import { requestTextOf } from "./json-text.ts";
import { openParts } from "./parts.ts";
import type { QueueControls } from "./queue.ts";
import { TestRun } from "./run.ts";
import { Script, assertScript, type ScriptOptions } from "./script.ts";
import { configOf, type StartOptions } from "./start-options.ts";
import { told } from "./told.ts";
import { keepingWarnings } from "./warnings.ts";

export interface SubmitOptions extends Pick<wire.RunRequest, "queue" | "priority" | "agent" | "startAfter"> {
  /** Who asks for the run, and so may not decide its consents. */
  readonly as?: Actor;
  /** The same key and request are the same run. */
  readonly idempotencyKey?: string;
}

export interface TestClock {
  /** The ledger's time. */
  now(): Promise<Date>;
  /**
   * Moves the clock forward, from one thing that is due to the next, and carries every run on at each. By itself it hardly
   * goes. What is due up to a second later counts as well, because the code between two waits takes its time.
   * @throws GhoulsError configuration_invalid for a text that is no duration
   */
  advance(duration: Duration): Promise<void>;
}

/** Ghouls in a test: a real ledger, the real engine, and a clock that moves. */
export interface TestGhouls {
  /**
   * Admits a run. Nothing of it runs before a call that waits for it.
   * @throws GhoulsError unknown_workflow, input_invalid, idempotency_conflict, as an admission over the API
   */
  submit<Input, Output, Asked>(
    workflow: WorkflowDefinition<Input, Output, Asked>,
    input: Asked,
    options?: SubmitOptions,
  ): Promise<TestRun<Output>>;
  readonly clock: TestClock;
  readonly queue: QueueControls;
  /** Adds to the script. @throws GhoulsError configuration_invalid for an entry that can mean nothing */
  script(options: ScriptOptions): void;
  /**
   * For a step's function: the worker that carries it is lost where it stands, and nothing that it does from now on is
   * written.
   * @throws GhoulsError invalid_request where no worker carries a run
   */
  loseWorker(): void;
  /** Forgets every run, message and crash, sets the clock back to now and the script to what it was at the start. */
  reset(): Promise<void>;
  /** Drops the schema, and stops the server where it was started for this. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Real time for code that is under way, at a stop or a reset. */
const PATIENCE_MS = 2_000;

const TENANT = "test";
const TESTER: Actor = { subject: "user:tester", roles: ["operator"] };

/**
 * Starts Ghouls for the tests of a file: a schema of its own in a real PostgreSQL, migrated, with the workflows registered.
 * @throws GhoulsError configuration_invalid for options, a configuration, or a database, that cannot be used
 */
export async function startGhouls(options: StartOptions): Promise<TestGhouls> {
  const config = configOf(options);
  const { script: scripted = {}, skipTime = true, ask = "scripted" } = options;
  assertScript(scripted, config);
  const warnings = keepingWarnings(options.log);
  const database = await openDatabase(options.databaseUrl, process.env);
  const { scratch } = database;
  const { authority, grants } = options;
  const parts = openParts({ config, ask, database, log: warnings.log, authority, grants });
  const { queue, admission, workers, reconcileIfDue } = parts;
  const runIds = new Set<string>();
  const script = new Script(
    { ...parts, config, tenantId: TENANT, nowMs: () => scratch.now(), runIds: () => [...runIds] },
    scripted,
  );
  const driver = new Driver({ scratch, queue, workers, script, reconcileIfDue, skipTime });

  const clock: TestClock = {
    now: async () => new Date(await scratch.now()),
    advance: async (duration) => driver.advance(durationMs(duration)),
  };

  let closing: Promise<void> | undefined;
  const close = async () => {
    await parts.ledger.close();
    await database.close();
  };
  const ghouls: TestGhouls = {
    submit: (workflow, input, { as = options.as ?? TESTER, idempotencyKey, ...how } = {}) =>
      told(async () => {
        refuseFakedTimers();
        const { name, version } = workflow;
        const request = requestOf({ workflow: name, version, input, ...how }, idempotencyKey);
        const { runId } = await driver.act(admission.admit(principalOf(TENANT, as), request));
        runIds.add(runId);
        return new TestRun(runId, { ...parts, tenantId: TENANT, driver, warningsOf: warnings.of });
      }),
    clock,
    queue,
    script: (more) => script.add(more),
    loseWorker: () => workers.lose(),
    reset: async () => {
      const ended = driver.end(new GhoulsError("invalid_request", "the run was forgotten by reset()"), false);
      if (!(await endsWithin(ended, PATIENCE_MS))) {
        throw new GhoulsError("invalid_request", "a run cannot be forgotten: its code has not come back", {
          fix: "See which step, or which promise outside of steps, never ends; ctx.abortSignal tells it to.",
        });
      }
      await scratch.empty();
      queue.clear();
      workers.forgetCrashes();
      script.reset(scripted);
      parts.live.clear();
      warnings.clear();
      runIds.clear();
    },
    stop: async () => {
      // Code that never comes back keeps nobody's database.
      const stopped = new GhoulsError("invalid_request", "this Ghouls has been stopped");
      await endsWithin(driver.end(stopped, true), PATIENCE_MS);
      await (closing ??= close());
    },
    [Symbol.asyncDispose]: () => ghouls.stop(),
  };
  return ghouls;
}

/** @throws GhoulsError invalid_request */
function requestOf(request: object, idempotencyKey: string | undefined): AdmissionRequest {
  const { value, canonical, input } = requestTextOf(request);
  const parsed = wire.RunRequest.safeParse(value);
  if (!parsed.success) {
    throw new GhoulsError("invalid_request", "the run cannot be asked for like this", {
      issues: parsed.error.issues.map(({ path, message }) => ({
        path: `/${path.map(String).join("/")}`,
        message,
      })),
    });
  }
  return {
    request: parsed.data,
    canonicalRequest: canonical,
    inputText: input,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  };
}
