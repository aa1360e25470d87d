import { expect, test } from "vitest";
import * as ghouls from "ghouls";
import { releaseHost } from "../../packages/ghouls/src/releases/host.ts";

/** What only those who deploy, host or ask for runs import: no workflow is made with it. */
const OF_OTHERS = [
  "HOST_MODULE",
  "codeDigest",
  "createAdmissionHandler",
  "createAdmitter",
  "fromDrizzle",
  "fromKysely",
  "createApiHandler",
  "createEventsHandler",
  "createEgress",
  "createFetch",
  "createMigrator",
  "createPreflight",
  "createPublisher",
  "createReconciler",
  "createWorker",
  "digestBasis",
  "digestManifest",
  "importRelease",
  "jwks",
  "loadConfig",
  "modulesOf",
  "openReleaseStore",
  "publishReleases",
  "removeReleases",
  "runWorker",
];

test("gives the code of a release all that workflows are made with, as this process has it", () => {
  const host = releaseHost(() => undefined);
  expect([...Object.keys(host), ...OF_OTHERS].toSorted()).toEqual(Object.keys(ghouls).toSorted());
  const { workflow: _workflow, ...others } = host;
  for (const [name, value] of Object.entries(others))
    expect(value, name).toBe((ghouls as Readonly<Record<string, unknown>>)[name]);
});
