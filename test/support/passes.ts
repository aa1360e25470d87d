import type { Outcome, Owner, Pass, Turn } from "@ghouls/engine";

/** A turn that has all the time that there is. */
export const LONG_TURN: Turn = { signal: new AbortController().signal, withinMs: () => 10_000 };

/** What a pass does in one round over all that is due now: each owner, and what came of its turn, in order. */
export async function roundOf<Due extends Owner>(
  pass: Pass<Due>,
  { limit = 50, turn = LONG_TURN }: { limit?: number; turn?: Turn } = {},
): Promise<[owner: string, outcome: Outcome["kind"]][]> {
  const done: [string, Outcome["kind"]][] = [];
  let after: Awaited<ReturnType<Pass<Due>["find"]>>["next"];
  do {
    const page = await pass.find({ limit, after });
    for (const due of page.found) {
      const [outcome] = await pass
        .repair([due], turn)
        .catch((error: unknown): Outcome[] => [{ kind: "failed", reason: String(error) }]);
      done.push([due.owner, outcome?.kind ?? "failed"]);
    }
    after = page.next;
  } while (after !== undefined);
  return done;
}
