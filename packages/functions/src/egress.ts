import config from "#config";
import { createEgress } from "ghouls";

/** The egress function: asks services, invoked by workers and the reconciler, without any right of theirs. */
export const handler: ReturnType<typeof createEgress> = createEgress(config);
