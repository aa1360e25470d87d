import config from "#config";
import manifest from "#manifest";
import { createApiHandler } from "ghouls";

/** The api function: answers what is read. */
export const handler: ReturnType<typeof createApiHandler> = createApiHandler(config, { manifest });
