import { randomUUID } from "node:crypto";
import { sha256, type CallId, type Claim } from "@ghouls/core";
import type { Ask } from "@ghouls/ledger";
import type { TestDatabase } from "./database.ts";

const stored = (value: unknown) => {
  const text = JSON.stringify(value);
  return { text, digest: sha256(text) };
};

export const RESERVE: CallId = { epoch: 0, scope: "", kind: "reserve", name: "gpu", nth: 1 };
export const RELEASE: CallId = { epoch: 0, scope: "gpu{}", kind: "release", name: "gpu", nth: 1 };

/** An ask for units of which a test names only what it is about. */
export function ask(options: Partial<Ask> = {}): Ask {
  return {
    reservationId: randomUUID(),
    call: RESERVE,
    capacity: "gpu",
    units: 1,
    inside: 0,
    waitSeconds: 600,
    retake: false,
    reserved: stored({ outcome: "RESERVED" }),
    unavailable: stored({ outcome: "UNAVAILABLE" }),
    ...options,
  };
}

/** The states of a run's reservations in the order of asking. */
export async function reservationsOf(db: TestDatabase, { runId }: Pick<Claim, "runId">): Promise<string[]> {
  const found = await db.admin<{ status: string }>(
    "select status from ghouls.reservations where run_id = $1 order by asked_at, seq, released_at nulls last, reservation_id",
    [runId],
  );
  return found.map(({ status }) => status);
}
