import config from "#config";
import { createAdmissionHandler } from "ghouls";

/** The admission function: commits runs and publishes them. */
export const handler = createAdmissionHandler(config);
