import config from "#config";
import { createMigrator } from "ghouls";

/** The migrate function: brings the schema up to this build, invoked by a deploy before anything else changes. */
export const handler: ReturnType<typeof createMigrator> = createMigrator(config);
