import { sha256, type wire } from "@ghouls/core";
import type { ContainmentItem } from "@ghouls/ledger";

/** The name of an item in paths and commands: short, and the same for every reader. */
export function itemId(item: Pick<ContainmentItem, "kind" | "key">): string {
  return item.kind === "worker" ? `worker-${item.key}` : `${item.kind}-${sha256(item.key).slice(0, 12)}`;
}

export function itemView(item: ContainmentItem): wire.ContainmentItem {
  return {
    id: itemId(item),
    kind: item.kind,
    subject: item.kind === "worker" || item.kind === "child" ? item.worker : callOf(item.key),
    enqueueSeq: item.seq,
    overAt: item.overAt?.toISOString() ?? null,
    createdAt: item.createdAt.toISOString(),
    tries: item.tries,
    lastError: item.lastError,
    acknowledgedAt: item.acknowledgedAt?.toISOString() ?? null,
    acknowledgedBy: item.acknowledgedBy,
    acknowledgement: item.acknowledgement,
  };
}

/** The call in the key of an effect, an undo or an attempt, `[epoch, scope, kind, name, nth]`, in words. */
function callOf(key: string): string {
  const [, scope, , name, nth] = JSON.parse(key) as [number, string, string, string, number];
  const use = nth === 1 ? "" : ` (use ${nth})`;
  return `${name}${use}${scope === "" ? "" : ` in ${scope}`}`;
}
