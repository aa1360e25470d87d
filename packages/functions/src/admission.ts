import config from "#config";
import manifest from "#manifest";
import { createAdmissionHandler } from "ghouls";

/** The admission function: commits runs and publishes them. */
export const handler: ReturnType<typeof createAdmissionHandler> = createAdmissionHandler(config, {
  manifest,
});
