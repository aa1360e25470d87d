import type { Executor } from "../connection/database.ts";
import type { RunKey } from "../containment/endings.ts";
import { dueStatements, runDue, type DueLook } from "../sql/due.ts";
import { microsOf, pageOf, type PassPage } from "../sql/keyset.ts";
import { COLUMNS, consentOf, OF, type StoredConsent } from "./consents.ts";
import { rows } from "../sql/rows.ts";
import { writeStatement } from "../sql/statement.ts";

const TO_LOOK_UP = dueStatements(
  "consents.to-look-up",
  { time: "c.next_look_at", id: "c.run_id", owner: "c.consent_id", column: "consent_id" },
  (due) => `
select ${COLUMNS}, c.looks, ${microsOf("c.next_look_at")}
${OF}
where c.status = 'PENDING' and c.source is not null and ${due}`,
);

const LOOKED_UP = writeStatement(
  "consents.looked-up",
  `
update ghouls.consents c
set looks = c.looks + 1, next_look_at = ghouls.clock() + $4::double precision * interval '1 second'
where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3 and c.status = 'PENDING' and c.looks = $5
returning c.looks`,
);

/** Consents whose source is to be asked. They are their own owners. Spans tenants. */
export async function readConsentsToLookUp(
  executor: Executor,
  look: DueLook,
): Promise<PassPage<StoredConsent & { readonly looks: number }>> {
  const found = await runDue(executor, TO_LOOK_UP, look);
  return pageOf(found, look.limit, (row) => ({ ...consentOf(row), looks: rows(row).number("looks") }));
}

/** When a source that does not know yet is asked again. False where somebody else has looked since it was read. */
export async function postponeLookUp(
  executor: Executor,
  consent: RunKey & { readonly consentId: string; readonly looks: number },
  seconds: number,
): Promise<boolean> {
  const { tenantId, runId, consentId, looks } = consent;
  return (await executor.run(LOOKED_UP, [tenantId, runId, consentId, seconds, looks])).length === 1;
}
