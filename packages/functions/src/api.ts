import config from "#config";
import { createApiHandler } from "ghouls";

/** The api function: answers what is read. */
export const handler = createApiHandler(config);
