import type { DeliveryRef } from "@ghouls/core";
import type { Database, Executor } from "../connection/database.ts";
import { recordRepair } from "../reconciler/repairs.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

/** A message of a dead-letter queue that names nothing of this ledger. */
export interface KeptDeadLetter {
  /** Of the configuration. */
  readonly queue: string;
  readonly messageId: string;
  /** SHA-256 of its body, which is not kept: nobody knows whose it is. */
  readonly bodyDigest: string;
  readonly bytes: number;
  readonly reason: "poison" | "unknown";
}

const NOTE = writeStatement(
  "deadletters.note",
  `
insert into ghouls.dead_letters as letter (queue, message_id, body_digest, bytes, reason, first_seen_at, seen_at)
select q.*, ghouls.clock(), ghouls.clock()
from unnest($1::text[], $2::text[], $3::text[], $4::integer[], $5::text[]) as q(queue, message_id, body_digest, bytes, reason)
on conflict (queue, message_id) do update set seen_at = ghouls.clock(), reason = excluded.reason
returning letter.first_seen_at = letter.seen_at as is_new`,
);

const FORGET = writeStatement(
  "deadletters.forget",
  `
delete from ghouls.dead_letters letter
where letter.seen_at < ghouls.clock() - interval '3 hours'`,
);

/** Its delivery alone. */
const LOCK = readStatement(
  "deadletters.lock",
  `
select d.tenant_id
from ghouls.runs run
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id
where run.run_id = $1 and d.seq = $2
for update of d`,
);

/**
 * What is due to be published is not made due again. A later statement than the one that took the lock: its time is that of
 * its beginning, so that one which had waited would take what was made due meanwhile for something of the future.
 */
const REPUBLISH = writeStatement(
  "deadletters.republish",
  `
update ghouls.deliveries d
set next_publication_at = greatest(d.due_at, ghouls.clock())
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3
  and d.status = 'PENDING' and d.next_publication_at > greatest(d.due_at, ghouls.clock())
returning d.publications`,
);

/** Keeps that it is there. True where it was not known. */
export async function noteDeadLetter(executor: Executor, letter: KeptDeadLetter): Promise<boolean> {
  const { queue, messageId, bodyDigest, bytes, reason } = letter;
  const [row] = await executor.run(NOTE, [[queue], [messageId], [bodyDigest], [bytes], [reason]]);
  return row !== undefined && rows(row).boolean("is_new");
}

/**
 * Forgets those that nobody has seen for three hours: somebody has taken them away, or their time was over. An idle deployment
 * looks once an hour, and is not to take what is still there for new each time.
 */
export async function forgetDeadLetters(executor: Executor): Promise<void> {
  await executor.run(FORGET, []);
}

/**
 * Has the relay publish a delivery anew, with a row of repairs in the same commit: one, whoever else has found the same
 * letter. False where it does not wait, or is due to be published anyway.
 */
export async function republishDeadLetter(database: Database, ref: DeliveryRef): Promise<boolean> {
  return database.transaction("deadletters.republish", async (transaction) => {
    const { runId, enqueueSeq } = ref;
    const [locked] = await transaction.run(LOCK, [runId, enqueueSeq]);
    if (locked === undefined) return false;
    const key = { tenantId: rows(locked).text("tenant_id"), runId };
    const [row] = await transaction.run(REPUBLISH, [key.tenantId, runId, enqueueSeq]);
    if (row === undefined) return false;
    await recordRepair(transaction, key, {
      pass: "dead-letters",
      rule: "dead letter of a delivery that waits: publish anew",
      before: `delivery ${enqueueSeq} PENDING, published ${rows(row).number("publications")} times`,
      after: "its publication is due",
    });
    return true;
  });
}
