import { GhoulsError } from "@ghouls/core";

/** By the check that fails; the first of them. */
const FIXES: ReadonlyMap<string, string> = new Map([
  [
    "schema",
    "Run `ghouls migrate` with the migrator's connection string, or set GHOULS_MIGRATION_DATABASE_URL.",
  ],
  ["integrity", "Run `npx ghouls doctor --strict`: it lists the faults, and how each is acknowledged."],
]);

/**
 * Asks the API whether it can work before anybody is told that it is up.
 * @throws GhoulsError configuration_invalid with what is not ready, and what to do
 */
export async function refuseUnready(apiUrl: string): Promise<void> {
  const response = await fetch(`${apiUrl}/readyz`);
  const body = (await response.json().catch(() => undefined)) as
    | { checks?: { name: string; ok: boolean; detail: string }[]; detail?: string }
    | undefined;
  if (response.status !== 503) return;
  const failing = (body?.checks ?? []).filter((check) => !check.ok);
  const details = failing.map((check) => `${check.name}: ${check.detail}`).join("; ");
  throw new GhoulsError(
    "configuration_invalid",
    `the API is not ready: ${details || body?.detail || "no reason given"}`,
    {
      fix:
        failing.map(({ name }) => FIXES.get(name)).find((fix) => fix !== undefined) ??
        "The log names the reason; check DATABASE_URL and the configuration.",
    },
  );
}
