import type { DeploymentPlan } from "@ghouls/functions";
import { logicalName, type Components } from "./platform.ts";
import type { Project } from "./project.ts";
import type { References } from "./references.ts";

/** Where releases lie. The code of open runs of a protected stage is kept, whatever becomes of the stage. */
export function makeReleases({ sst }: Components, references: References) {
  const bucket = new sst.aws.Bucket(
    logicalName("releases"),
    // No browser reads it.
    { cors: false },
    { retainOnDelete: $app.removal !== "remove" },
  );
  references.set("releases.bucket.name", bucket.name);
  references.set("releases.bucket.arn", bucket.arn);
  return bucket;
}

/**
 * Puts the releases of this build beside those of builds before. One that a later build has no more is only forgotten here:
 * what no open run needs is taken out by the preflight, which asks the ledger.
 */
export function uploadReleases(
  { aws }: Components,
  { releases: { prefix } }: DeploymentPlan,
  { built }: Project,
  bucket: ReturnType<typeof makeReleases>,
): $util.Resource[] {
  return built.releases.map(
    ({ bundle, file }) =>
      new aws.s3.BucketObjectv2(
        logicalName(`release-${bundle.slice(0, 32)}`),
        {
          bucket: bucket.name,
          key: `${prefix}/${bundle}.json`,
          source: new $util.asset.FileAsset(file),
          contentType: "application/json",
        },
        { retainOnDelete: true },
      ),
  );
}
