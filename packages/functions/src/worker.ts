import config from "#config";
import { createWorker } from "ghouls";

/** The worker function: carries runs, invoked by SQS with partial batch responses. */
export const handler = createWorker(config);
