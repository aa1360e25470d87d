import { setTimeout as delay } from "node:timers/promises";
import { NonRetryableError } from "ghouls";

/**
 * How long one request may take, in milliseconds: less than `timing.actsMargin` of the configuration, so that no request of a
 * worker is believed to be over while it is not.
 */
const TIMEOUT_MS = 4_000;
/** How long a request that was given up, or cut off, may still be on its way to S3, in milliseconds: `timing.actsMargin`. */
const ON_ITS_WAY_MS = 5_000;

interface StoredObject {
  readonly bytes: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The bucket that releases go to. */
export interface ReleaseStore {
  readonly bucket: string;
  /**
   * One request, never repeated by itself.
   * @throws where S3 refused it, or where nobody knows, see {@link certainlyNot}; then only when it cannot arrive any more
   */
  put(object: {
    readonly key: string;
    readonly body: Buffer;
    readonly contentType: string;
    readonly sha256: string;
    readonly metadata: Readonly<Record<string, string>>;
  }): Promise<void>;
  /** Undefined where there is no such object; S3 sees what was put before (it is strongly consistent). */
  head(key: string): Promise<StoredObject | undefined>;
  [Symbol.dispose](): void;
}

/** The bucket's name. @throws NonRetryableError where none is named */
export function releasesBucket(env: NodeJS.ProcessEnv): string {
  const bucket = env["RELEASES_BUCKET"];
  if (bucket !== undefined && bucket !== "") return bucket;
  throw new NonRetryableError("RELEASES_BUCKET must name the S3 bucket that releases are published to.");
}

/**
 * Opens a bucket with what AWS_REGION, AWS_ENDPOINT_URL and the credentials of the process say. The SDK is loaded by this: it
 * takes a worker a tenth of a second, which those that publish nothing need not wait for.
 */
export async function openReleases(bucket: string, signal: AbortSignal): Promise<ReleaseStore> {
  // By AWS: SigV4, endpoints, credentials. Written by hand it would be a worse copy of it.
  const { HeadObjectCommand, PutObjectCommand, S3Client } = await import("@aws-sdk/client-s3");
  const client = new S3Client({
    // A repetition could arrive after the step is over.
    maxAttempts: 1,
    // A server on this machine has no name for each bucket.
    forcePathStyle: Boolean(process.env["AWS_ENDPOINT_URL"]),
  });
  const bounded = () => ({ abortSignal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) });
  return {
    bucket,
    put: async ({ key, body, contentType, sha256, metadata }) => {
      const command = new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        Body: body,
        ContentType: contentType,
        // S3 refuses a body with another digest.
        ChecksumSHA256: Buffer.from(sha256, "hex").toString("base64"),
        Metadata: { ...metadata },
      });
      try {
        await client.send(command, bounded());
      } catch (error) {
        // A step that throws says that nothing of it still acts, and its probe is asked soon after.
        if (!certainlyNot(error)) await delay(ON_ITS_WAY_MS);
        throw error;
      }
    },
    head: async (key) => {
      try {
        const { ContentLength: bytes = 0, Metadata: metadata = {} } = await client.send(
          new HeadObjectCommand({ Bucket: bucket, Key: key }),
          bounded(),
        );
        return { bytes, metadata };
      } catch (error) {
        // A bucket that is not there answers the same: nothing was put into it.
        if (statusOf(error) === 404) return undefined;
        throw error;
      }
    },
    [Symbol.dispose]: () => client.destroy(),
  };
}

/** Whether an error of a put proves that nothing was put: S3 has refused it, or nobody listened. */
export function certainlyNot(error: unknown): boolean {
  const status = statusOf(error);
  if (status !== undefined) return status >= 400 && status < 500;
  return (error as NodeJS.ErrnoException).code === "ECONNREFUSED";
}

function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
}
