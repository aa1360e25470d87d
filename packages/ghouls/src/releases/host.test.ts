import { expect, test } from "vitest";
import * as ghouls from "../index.ts";
import { releaseHost } from "./host.ts";

/** What only those who deploy, host or ask for runs import: no workflow is made with it. */
const OF_OTHERS = [
  "HOST_MODULE",
  "codeDigest",
  "createAdmissionHandler",
  "createAdmitter",
  "createApiHandler",
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
  "loadConfig",
  "modulesOf",
  "openReleaseStore",
  "publishReleases",
  "removeReleases",
];

test("gives the code of a release all that workflows are made with, as this process has it", () => {
  const host = releaseHost([]);
  expect([...Object.keys(host), ...OF_OTHERS].toSorted()).toEqual(Object.keys(ghouls).toSorted());
  const { workflow: _workflow, ...others } = host;
  for (const [name, value] of Object.entries(others))
    expect(value, name).toBe((ghouls as Readonly<Record<string, unknown>>)[name]);
});
