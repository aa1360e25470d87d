import config from "#config";
import manifest from "#manifest";
import { createReconciler } from "ghouls";

/** The reconciler function: repairs what a crash left, invoked by a schedule. */
export const handler: ReturnType<typeof createReconciler> = createReconciler(config, { manifest });
