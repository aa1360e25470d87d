import type { Executor } from "../connection/database.ts";
import type { RunKey } from "../containment/endings.ts";
import { behind, microsOf, pageOf, positionOf, type PassPage, type Position } from "../sql/keyset.ts";
import { COLUMNS, consentOf, OF, type StoredConsent } from "./consents.ts";
import { rows } from "../sql/rows.ts";
import { readStatement, writeStatement } from "../sql/statement.ts";

const TO_LOOK_UP = readStatement(
  "consents.to-look-up",
  `
select ${COLUMNS}, c.looks, ${microsOf("c.next_look_at")}
${OF}
where c.status = 'PENDING' and c.source is not null and c.next_look_at <= ghouls.clock()
  and ${behind("c.next_look_at", "c.run_id", 2)}
order by c.next_look_at, c.run_id
limit $1`,
);

const LOOKED_UP = writeStatement(
  "consents.looked-up",
  `
update ghouls.consents c
set looks = c.looks + 1, next_look_at = ghouls.clock() + $4::double precision * interval '1 second'
where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3 and c.status = 'PENDING'
returning c.looks`,
);

/** A page of consents whose source is to be asked, behind the page before. Spans tenants. */
export async function readConsentsToLookUp(
  executor: Executor,
  limit: number,
  after?: Position,
): Promise<PassPage<StoredConsent & { readonly looks: number }>> {
  const found = await executor.run(TO_LOOK_UP, [limit, ...positionOf(after)]);
  return pageOf(found, limit, (row) => ({ ...consentOf(row), looks: rows(row).number("looks") }));
}

/** When a source that does not know yet is asked again. */
export async function postponeLookUp(
  executor: Executor,
  consent: RunKey & { readonly consentId: string },
  seconds: number,
): Promise<void> {
  await executor.run(LOOKED_UP, [consent.tenantId, consent.runId, consent.consentId, seconds]);
}
