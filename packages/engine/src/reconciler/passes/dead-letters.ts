import {
  judgeDeadLetter,
  parseMessage,
  sha256,
  type DeadLetter,
  type FaultInjector,
  type Logger,
  type QueuePort,
  type ReceivedMessage,
} from "@ghouls/core";
import type { DueLook, Ledger } from "@ghouls/ledger";
import { LEFT, REPAIRED, type Outcome, type Owner, type Pass } from "../pass.ts";

export interface DeadLettersOptions {
  readonly ledger: Pick<Ledger, "deliveries" | "deadLetters">;
  /** Undefined where no dead-letter queue is known here. */
  readonly deadLetters?: DeadLetterQueues | undefined;
  readonly faults: FaultInjector;
  readonly log: Logger;
}

/** Dead-letter queues, by the names of their queues in the configuration. */
export interface DeadLetterQueues {
  readonly queue: Pick<QueuePort, "receive" | "changeVisibility" | "delete">;
  readonly names: readonly string[];
}

/** A message of a dead-letter queue, and what becomes of it. */
interface DueLetter extends Owner {
  readonly queue: string;
  readonly message: Pick<ReceivedMessage, "messageId" | "receiptHandle" | "body">;
  readonly letter: DeadLetter;
}

/** A queue that could not be read: it fails for itself, and takes no turn of the others. */
interface UnreadQueue extends Owner {
  readonly queue: string;
  readonly failure: unknown;
}

type Due = DueLetter | UnreadQueue;

/** How long a round has for what it has received, in seconds; what it does not come to is there again after that. */
const LOOKED_AT_SECONDS = 120;
/** Messages of one call. Source: Amazon SQS, "ReceiveMessage". */
const RECEIVE = 10;

/**
 * Dead-letter queues against the ledger (faults.md F31): arrival there is never a failure of a run. A letter of a delivery
 * that waits has it published anew, one that is of no use goes, and one that names nothing of this ledger stays, and is shown.
 */
export function deadLettersPass(options: DeadLettersOptions): Pass<Due> {
  return {
    name: "dead-letters",
    asks: true,
    find: (look) => find(look, options),
    describe: (due) => {
      if ("failure" in due) return { rule: "a queue that cannot be read: try again", before: due.queue };
      const { letter, message, queue, runId } = due;
      return {
        rule: ruleOf(letter),
        before: runId === null ? `message ${message.messageId} of ${queue}` : message.body,
      };
    },
    repair: (due) => Promise.all(due.map((one) => settle(one, options))),
  };
}

function ruleOf(letter: DeadLetter): string {
  if (letter.kind === "republish") return "dead letter of a delivery that waits: publish anew";
  return letter.kind === "drop"
    ? `dead letter that is of no use (${letter.reason}): delete`
    : `dead letter that names nothing here (${letter.reason}): keep`;
}

/**
 * A message has no cursor: what was received is hidden for a while, and the next look gets others. Each queue has its share of
 * the page, and all are read at once: neither what one keeps nor one that does not answer stands before the others.
 */
async function find(look: DueLook, options: DeadLettersOptions) {
  const { ledger, deadLetters } = options;
  if (deadLetters === undefined || look.owners !== undefined) return { found: [], next: undefined };
  const share = Math.max(1, Math.floor(look.limit / deadLetters.names.length));
  const found = await Promise.all(deadLetters.names.map((queue) => read(queue, share, deadLetters, ledger)));
  await ledger.deadLetters.forget();
  return { found: found.flat(), next: undefined };
}

async function read(
  queue: string,
  limit: number,
  deadLetters: DeadLetterQueues,
  ledger: DeadLettersOptions["ledger"],
): Promise<Due[]> {
  const { messages, unread } = await receive(queue, limit, deadLetters);
  const refs = messages.flatMap(({ body }) => parseMessage(body) ?? []);
  const rows = refs.length === 0 ? new Map() : await ledger.deliveries.unclaimed(refs);
  const letters = messages.map((message): DueLetter => {
    const ref = parseMessage(message.body);
    const letter = judgeDeadLetter(
      message.body,
      ref === undefined ? undefined : rows.get(`${ref.runId}:${ref.enqueueSeq}`),
    );
    const runId = letter.kind === "keep" ? null : (ref?.runId ?? null);
    return { tenantId: "", runId, owner: message.messageId, queue, message, letter };
  });
  return [...letters, ...unread];
}

/** What was received before a queue failed is looked after all the same: it is hidden from the next look. */
async function receive(
  queue: string,
  limit: number,
  deadLetters: DeadLetterQueues,
): Promise<{ readonly messages: readonly ReceivedMessage[]; readonly unread: readonly UnreadQueue[] }> {
  const messages: ReceivedMessage[] = [];
  try {
    while (messages.length < limit) {
      const max = Math.min(RECEIVE, limit - messages.length);
      const received = await deadLetters.queue.receive(queue, {
        max,
        waitSeconds: 0,
        visibilitySeconds: LOOKED_AT_SECONDS,
      });
      if (received.length === 0) break;
      messages.push(...received);
    }
  } catch (failure) {
    return { messages, unread: [{ tenantId: "", runId: null, owner: `queue ${queue}`, queue, failure }] };
  }
  return { messages, unread: [] };
}

/** What is committed comes first: a letter whose deletion fails comes again, and finds it done. */
async function settle(due: Due, options: DeadLettersOptions): Promise<Outcome> {
  if ("failure" in due) throw due.failure;
  const { ledger, deadLetters, faults, log } = options;
  const { queue, message, letter } = due;
  if (deadLetters === undefined) return LEFT;
  const { messageId, receiptHandle, body } = message;
  if (letter.kind === "keep") {
    const { reason } = letter;
    const bytes = Buffer.byteLength(body);
    const kept = { queue, messageId, bodyDigest: sha256(body), bytes, reason };
    if (await ledger.deadLetters.note(kept))
      log.error("a dead letter names nothing of this ledger; it stays for a person", {
        queue,
        messageId,
        reason,
        bytes,
      });
    // People and alarms see it again at once.
    await deadLetters.queue.changeVisibility(queue, receiptHandle, 0);
    return LEFT;
  }
  const repaired = letter.kind === "republish" && (await ledger.deadLetters.republish(letter.ref));
  await faults("dead-letters.after-repair", messageId);
  await deadLetters.queue.delete(queue, receiptHandle);
  log.info("a dead letter was reconciled", {
    queue,
    messageId,
    outcome: letter.kind,
    ...(due.runId === null ? {} : { runId: due.runId }),
    ...(letter.kind === "drop" ? { reason: letter.reason } : {}),
  });
  return repaired ? REPAIRED : LEFT;
}
