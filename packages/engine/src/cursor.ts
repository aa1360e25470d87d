import { GhoulsError, isRunId } from "@ghouls/core";
import type { NewestPosition } from "@ghouls/ledger";

/** Where a list goes on that shows the newest first: a text that callers give back and need not understand. */
export function cursorOf({ micros, id }: NewestPosition): string {
  return Buffer.from(`${micros} ${id}`).toString("base64url");
}

/** @throws GhoulsError invalid_request for what is no cursor of ours */
export function positionOf(cursor: string): NewestPosition {
  const [micros = "", id = ""] = Buffer.from(cursor, "base64url").toString().split(" ");
  if (!/^\d{1,18}$/.test(micros) || !isRunId(id))
    throw new GhoulsError("invalid_request", "the cursor is none of ours", {
      fix: "Take nextCursor of the page before, or none for the first page.",
    });
  return { micros, id };
}
