import config from "#config";
import { createReconciler } from "ghouls";

/** The reconciler function: repairs what a crash left, invoked by a schedule. */
export const handler = createReconciler(config);
