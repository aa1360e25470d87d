import { STRANDED_CHECK, type FaultQuarantine, type IntegrityFault } from "@ghouls/core";
import type { Row } from "../connection/database.ts";
import { rows } from "../sql/rows.ts";

/** The columns of a fault, of the alias `f`. */
export const FAULT = `f.fault_id, f.check_name, f.tenant_id, f.run_id, f.subject, f.detail, f.found_at, f.found_by, f.seen_at, f.gone_at,
  f.quarantine, f.acknowledged_at, f.acknowledged_by, f.acknowledgement`;

/** A fault that stands, and that nobody has acknowledged. */
export const isOpen = (fault: string): string =>
  `${fault}.gone_at is null and ${fault}.acknowledged_at is null`;

/** The same of the ledger alone: a build that lacks the code of open runs is for whoever deploys it; what runs has that code. */
export const contradicts = (fault: string): string =>
  `${isOpen(fault)} and ${fault}.check_name <> '${STRANDED_CHECK}'`;

export function faultOf(row: Row): IntegrityFault {
  const r = rows(row);
  const at = r.dateOrNull("acknowledged_at");
  return {
    faultId: r.text("fault_id"),
    check: r.text("check_name"),
    tenantId: r.textOrNull("tenant_id"),
    runId: r.textOrNull("run_id"),
    subject: r.text("subject"),
    detail: r.text("detail"),
    foundAt: r.date("found_at"),
    foundBy: r.text("found_by"),
    seenAt: r.date("seen_at"),
    goneAt: r.dateOrNull("gone_at"),
    quarantine: r.textOrNull("quarantine") as FaultQuarantine | null,
    acknowledged:
      at === null ? null : { by: r.text("acknowledged_by"), reason: r.text("acknowledgement"), at },
  };
}
