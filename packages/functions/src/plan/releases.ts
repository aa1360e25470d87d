import { ref, type Reference } from "./names.ts";

/** Where the releases of a deployment lie. */
export interface ReleasesPlan {
  readonly prefix: "releases";
  /** What the functions are told: GHOULS_RELEASES. */
  readonly place: string;
  /** Of the bucket. */
  readonly arn: Reference;
  /** Of all bundles. */
  readonly objects: string;
}

export function planReleases(): ReleasesPlan {
  const [name, arn] = [ref("releases.bucket.name"), ref("releases.bucket.arn")];
  return { prefix: "releases", place: `s3://${name}/releases`, arn, objects: `${arn}/releases/*` };
}
