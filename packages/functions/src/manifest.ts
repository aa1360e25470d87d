import type { DigestManifest } from "ghouls";

/**
 * Stands where the build's alias `#manifest` puts the digests of the configuration's workflows. Empty: a workflow that is
 * not in it is refused at the start.
 */
const empty: DigestManifest = {};

export default empty;
