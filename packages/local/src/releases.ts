import type { WorkflowPin } from "@ghouls/core";
import { pinsOf } from "./changes.ts";
import { DEV_TENANT } from "./child-environment.ts";
import { endChild, startChild, untilReady } from "ghouls/processes/child";
import { entryPoint } from "./entry-point.ts";
import type { KeptCode } from "./code.ts";
import type { HostLog } from "./log.ts";
import type { HostLedger } from "./parts.ts";

export interface ReleasingOptions {
  /** The module that exports publishCode. */
  readonly functions: string;
  readonly configPath: string;
  readonly env: NodeJS.ProcessEnv;
  readonly log: HostLog;
  readonly ledger: Pick<HostLedger, "runs">;
}

/** The publication of one code, on its way beside what runs. */
export interface Releasing {
  /** Resolves when it has come to its end, whatever that was. Never rejects. */
  readonly ended: Promise<void>;
  /** Ends it; not before it is through, where a run that is open has this code alone. */
  stop(): Promise<void>;
  /** Ends it at once, whatever is pinned to its code. */
  kill(): void;
}

/** How long a stop waits for a publication, in milliseconds. */
const PATIENCE_MS = 30_000;

/**
 * Publishes code in a process of its own while it runs already: its runs may outlive it. What cannot be published is said, and no
 * reason against running it.
 */
export function startReleasing(code: KeptCode, options: ReleasingOptions): Releasing {
  const { functions, configPath, env, log, ledger } = options;
  const child = startChild({
    source: "releases",
    entry: entryPoint("releases"),
    args: [functions, configPath, code.file],
    env,
    log,
  });
  let stopped = false;
  let over = false;
  const kill = (): void => {
    stopped = true;
    child.kill("SIGKILL");
  };
  const ended = untilReady(child, "the releases")
    .then(
      () => undefined,
      (error: { message: string; fix?: string }) => {
        if (stopped) return;
        log.line("host", `this code has no release, so its runs cannot outlive it: ${error.message}`);
        if (error.fix !== undefined) log.line("host", `  Fix: ${error.fix}`);
      },
    )
    .then(async () => {
      over = true;
      await endChild(child, "SIGKILL", PATIENCE_MS);
    });
  return {
    ended,
    kill,
    stop: async () => {
      if (!over && (await hasRuns(pinsOf(code.manifest), ledger))) {
        const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
        await ended;
        clearTimeout(timer);
        return;
      }
      kill();
      await ended;
    },
  };
}

async function hasRuns(pins: readonly WorkflowPin[], { runs }: Pick<HostLedger, "runs">): Promise<boolean> {
  try {
    return (await runs.openOfPins(DEV_TENANT, pins)).length > 0;
  } catch {
    // Nobody can tell: it may have.
    return true;
  }
}
