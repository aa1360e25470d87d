import {
  DeleteObjectCommand,
  GetObjectCommand,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { clientSettings, type AwsConnection } from "./connection.ts";

/** Objects of one bucket. */
export interface S3Objects {
  put(key: string, bytes: Uint8Array, signal: AbortSignal): Promise<void>;
  /** Undefined where there is none of this key. */
  get(key: string, signal: AbortSignal): Promise<Uint8Array | undefined>;
  delete(key: string, signal: AbortSignal): Promise<void>;
  destroy(): void;
}

const TIMES = { connectionTimeoutMs: 1_000, requestTimeoutMs: 5_000 };

/** Only what is named of the SDK is in this module, which is loaded when it is needed. */
export function openObjects(connection: AwsConnection, bucket: string): S3Objects {
  const client = new S3Client({
    ...clientSettings({ maxAttempts: 3, ...connection }, TIMES),
    // An address of this machine has no names below it.
    forcePathStyle: connection.endpoint !== undefined,
  });
  return {
    put: async (key, bytes, abortSignal) => {
      const object = { Bucket: bucket, Key: key, Body: bytes, ContentType: "application/json" };
      await client.send(new PutObjectCommand(object), { abortSignal });
    },
    get: async (key, abortSignal) => {
      try {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }), {
          abortSignal,
        });
        return await Body?.transformToByteArray();
      } catch (error) {
        if (error instanceof NoSuchKey) return undefined;
        throw error;
      }
    },
    delete: async (key, abortSignal) => {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }), { abortSignal });
    },
    destroy: () => client.destroy(),
  };
}
