import type { Codec, wire } from "@ghouls/core";
import type { Ledger, RunKey, ShownBody, ShownRecord } from "@ghouls/ledger";
import { cursorOf, positionOf } from "../cursor.ts";

/** What people are shown of what is kept of a run; bodies come back through the codec. */
export async function evidenceOf(
  key: RunKey,
  page: { readonly limit: number; readonly cursor?: string },
  { ledger, codec }: { readonly ledger: { readonly evidence: EvidenceReads }; readonly codec: Codec },
): Promise<wire.RunEvidence> {
  const isFirst = page.cursor === undefined;
  const after = page.cursor === undefined ? {} : { after: positionOf(page.cursor) };
  const [terminal, rejected, { copies, next }] = await Promise.all([
    isFirst ? ledger.evidence.terminalOf(key) : null,
    isFirst ? ledger.evidence.rejectedOf(key) : [],
    ledger.evidence.copiesOf(key, { limit: page.limit, ...after }),
  ]);
  return {
    runId: key.runId,
    terminal: terminal === null ? null : recordView(terminal),
    rejected: await Promise.all(
      rejected.map(async ({ seq, call, at, worker, outcome, reason, body }) => ({
        at: at.toISOString(),
        enqueueSeq: seq,
        worker: worker ?? "unknown",
        ...callView(call),
        outcome,
        reason,
        ...(await bodyView(key, call, body, codec)),
      })),
    ),
    copies: await Promise.all(
      copies.map(async ({ seq, call, outcome, ordinal, tries, startedAt, completedAt, body }) => ({
        at: completedAt.toISOString(),
        enqueueSeq: seq,
        ...callView(call),
        outcome,
        ordinal,
        tries,
        startedAt: startedAt.toISOString(),
        ...(await bodyView(key, call, body, codec)),
      })),
    ),
    nextCursor: next === undefined ? null : cursorOf(next),
  };
}

type EvidenceReads = Pick<Ledger["evidence"], "terminalOf" | "rejectedOf" | "copiesOf">;

function recordView({ digest, bytes, text, writtenAt, agrees, seal }: ShownRecord): wire.TerminalRecord {
  return {
    digest,
    bytes,
    record: text,
    at: writtenAt.toISOString(),
    agrees,
    seal: seal && { number: seal.number, at: seal.sealedAt.toISOString(), digest: seal.digest },
  };
}

/** The key of a call as a worker has written it; that of an emitted event has its name alone. */
function callView(key: string) {
  const parts = JSON.parse(key) as unknown[];
  const [kind, name, scope, nth] =
    parts.length === 2 ? [parts[0], parts[1], "", 1] : [parts[2], parts[3], parts[1], parts[4]];
  return { kind: String(kind), name: String(name), scope: String(scope), nth: Number(nth) };
}

async function bodyView(
  { tenantId, runId }: RunKey,
  call: string,
  { digest, bytes, text }: ShownBody,
  codec: Codec,
) {
  const kind = callView(call).kind === "emit" ? "event" : "result";
  const body =
    text === null ? null : (JSON.parse(await codec.decode(text, { tenantId, runId, kind })) as unknown);
  return { digest, bytes, body };
}
