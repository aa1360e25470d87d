import config from "#config";
import manifest from "#manifest";
import { createEventsHandler } from "ghouls";

/** The events function: streams what happens to a run. */
export const handler: ReturnType<typeof createEventsHandler> = createEventsHandler(config, { manifest });
