/**
 * Stands where the build's alias `#releases` puts the bundles of its releases, by their digests. Empty: the preflight records
 * none.
 */
const none: readonly string[] = [];

export default none;
