import config from "#config";
import manifest from "#manifest";
import releases from "#releases";
import { createPreflight } from "ghouls";

/** The preflight function: judges the ledger before a deploy switches the code of the others. */
export const handler: ReturnType<typeof createPreflight> = createPreflight(config, {
  manifest,
  releases,
});
