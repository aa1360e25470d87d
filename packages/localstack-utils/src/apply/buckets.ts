import { goesAlong, removed, type Applier } from "./applier.ts";

export const OBJECT = "aws:s3/bucketObjectv2:BucketObjectv2";

export const bucket: Applier = {
  apply: async ({ clients: { s3 }, inputs, earlier }) => {
    const name = inputs.text("bucket");
    if (earlier === undefined) await s3.createBucket({ Bucket: name });
    return { keys: { name }, state: {} };
  },
  /** With what is in it, as SST's component has it. */
  remove: async ({ keys }, { s3 }) => {
    const name = keys["name"] ?? "";
    const { Contents: found = [] } = await s3.listObjectsV2({ Bucket: name });
    for (const { Key } of found) await s3.deleteObject({ Bucket: name, Key: Key ?? "" });
    await removed(s3.deleteBucket({ Bucket: name }));
  },
};

export const bucketPolicy: Applier = {
  apply: async ({ clients: { s3 }, inputs }) => {
    await s3.putBucketPolicy({ Bucket: inputs.text("bucket"), Policy: inputs.document("policy") });
    return { keys: {}, state: {} };
  },
  remove: goesAlong,
};

/** A release, which stays when a later graph has it no more. A function's code goes into the function itself. */
export const object: Applier = {
  apply: async ({ clients: { s3 }, inputs, code }) => {
    const key = inputs.text("key");
    if (key.startsWith("releases/"))
      await s3.putObject({ Bucket: inputs.text("bucket"), Key: key, Body: await code(key) });
    return { keys: {}, state: {} };
  },
  remove: goesAlong,
};
