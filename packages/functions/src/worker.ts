import config from "#config";
import manifest from "#manifest";
import { createWorker } from "ghouls";

/** The worker function: carries runs, invoked by SQS with partial batch responses. */
export const handler: ReturnType<typeof createWorker> = createWorker(config, { manifest });
