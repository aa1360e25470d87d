import { GhoulsError, PUBLISHER_GRACE_SECONDS, isRunId, isTerminalRun, type RunStatus } from "@ghouls/core";
import type { Ledger } from "@ghouls/ledger";
import { underWay } from "./attempts.ts";
import type { Publisher } from "./admission/publisher.ts";
import type { CloseChannel } from "./live/closing.ts";
import { cancelMatching } from "./matching.ts";
import { itemId } from "./items.ts";
import { heldBy } from "./pauses.ts";
import type { ControlService } from "./services.ts";

export interface ControlOptions {
  readonly ledger: Ledger;
  readonly publisher: Pick<Publisher, "publish">;
  readonly settings: { readonly actsMarginSeconds: number };
  /** Tells those who look on that a run has ended; nobody where absent. */
  readonly closeChannel?: CloseChannel | undefined;
}

/** What people may do to a run after its admission. Each act is one commit, with who did it and why. */
export function createControl({ ledger, publisher, settings, closeChannel }: ControlOptions): ControlService {
  const openItem = async (key: Parameters<Ledger["items"]["ofRun"]>[0], item: string) =>
    (await ledger.items.ofRun(key)).find((one) => one.acknowledgedAt === null && itemId(one) === item);
  const pausesOf = async (key: Parameters<Ledger["runs"]["get"]>[0]) => {
    const [run, pauses] = await Promise.all([ledger.runs.get(key), ledger.pauses.ofTenant(key.tenantId)]);
    if (run === null) throw absent();
    return heldBy(run, pauses);
  };
  return {
    cancel: async (principal, runId, reason) => {
      if (!isRunId(runId)) throw absent();
      const key = { tenantId: principal.tenantId, runId };
      const answer = await ledger.runs.cancel(
        key,
        { actor: principal.subject, reason },
        settings.actsMarginSeconds,
      );
      if (answer === null) throw absent();
      if (isTerminalRun(answer.status)) await closeChannel?.(key);
      return { runId, cancelled: answer.cancelled, status: answer.status };
    },

    cancelMatching: (principal, request) => cancelMatching({ ledger, settings }, principal, request),

    clear: async (principal, runId, reason) => {
      if (!isRunId(runId)) throw absent();
      const answer = await ledger.runs.clear(
        { tenantId: principal.tenantId, runId },
        { actor: principal.subject, reason },
        PUBLISHER_GRACE_SECONDS,
      );
      if (answer === null) throw absent();
      if (answer.resumption !== null) await publisher.publish(answer.resumption);
      return { runId, cleared: answer.cleared, status: answer.status };
    },

    pause: async (principal, runId, reason) => {
      if (!isRunId(runId)) throw absent();
      const key = { tenantId: principal.tenantId, runId };
      const answer = await ledger.runs.pause(key, { actor: principal.subject, reason });
      if (answer === null) throw absent();
      return { runId, ...answer, pauses: await pausesOf(key) };
    },

    unpause: async (principal, runId, reason) => {
      if (!isRunId(runId)) throw absent();
      const key = { tenantId: principal.tenantId, runId };
      const answer = await ledger.runs.unpause(key, { actor: principal.subject, reason });
      if (answer === null) throw absent();
      const { unpaused, status, resumption } = answer;
      if (resumption !== null) await publisher.publish(resumption);
      return { runId, unpaused, status, pauses: await pausesOf(key) };
    },

    resolve: async (principal, runId, item, reason) => {
      if (!isRunId(runId)) throw absent();
      const key = { tenantId: principal.tenantId, runId };
      const found = await openItem(key, item);
      if (found === undefined) throw absent();
      const { kind, key: itemKey } = found;
      if (kind === "child") throw childOpen(itemKey);
      const answer = await ledger.items.acknowledge(
        key,
        { kind, key: itemKey, by: "operator", words: reason },
        { actor: principal.subject, reason },
      );
      if (answer === null)
        throw kind === "attempt" && (await openItem(key, item)) !== undefined ? underWay() : absent();
      const status: RunStatus | undefined = answer.ended ?? (await ledger.runs.get(key))?.status;
      if (status === undefined) throw absent();
      if (isTerminalRun(status)) await closeChannel?.(key);
      return { runId, item, openItems: answer.openItems, status };
    },
  };
}

/** Nobody's word ends another run: its own end does. */
function childOpen(childRunId: string): GhoulsError {
  return new GhoulsError("child_open", `child ${childRunId} has not ended, and no word can say that it has`, {
    fix: `Cancel it, or settle its own items: \`ghouls show ${childRunId}\` lists them.`,
  });
}

function absent(): GhoulsError {
  return new GhoulsError("not_found", "there is no such run, or no such open item of it", {
    fix: "Check the ids: `ghouls show <run id>` lists the items of a run.",
  });
}
