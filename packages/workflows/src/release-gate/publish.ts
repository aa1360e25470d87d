import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { notDone, NonRetryableError } from "ghouls";
import type { ProbeAnswer, ProbeContext, StepContext } from "ghouls";
import * as z from "zod";
import type { Signed } from "../signing-service/statement.ts";
import { readable } from "./files.ts";
import { certainlyNot, openReleases } from "./s3.ts";
import type { WrittenFile } from "./write.ts";

/** Where a release is. */
export const Published = z.object({
  bucket: z.string(),
  /** In the order in which they were put; the last makes the release. */
  objects: z.array(z.object({ key: z.string(), bytes: z.number().int(), sha256: z.string() })),
});
export type Published = z.infer<typeof Published>;

/** What is published: files as they were digested, and the signature. Small enough for a journal. */
export interface Release {
  readonly bucket: string;
  readonly runId: string;
  readonly bom: WrittenFile;
  readonly verdict: WrittenFile;
  readonly signed: Signed;
}

interface ReleaseObject {
  readonly key: string;
  readonly contentType: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly body: () => Promise<Buffer>;
}

/** Metadata of each object: the step's key, by which the probe knows what the step has put. */
const KEY = "idempotency-key";

/** The signature comes last: a folder without it is no release. */
function objectsOf({ runId, bom, verdict, signed }: Release): readonly ReleaseObject[] {
  const folder = `releases/${runId}`;
  const json = "application/json";
  return [
    ofFile(`${folder}/bom.json`, json, bom),
    ofFile(`${folder}/verdict.json`, json, verdict),
    ofBytes(`${folder}/signer.pub.pem`, "application/x-pem-file", Buffer.from(signed.publicKey, "utf8")),
    ofBytes(`${folder}/statement.json`, json, Buffer.from(signed.statement, "utf8")),
    ofBytes(`${folder}/statement.sig`, "application/octet-stream", Buffer.from(signed.signature, "base64")),
  ];
}

function ofFile(key: string, contentType: string, { path, bytes, sha256 }: WrittenFile): ReleaseObject {
  return { key, contentType, bytes, sha256, body: () => reread(path, sha256) };
}

function ofBytes(key: string, contentType: string, body: Buffer): ReleaseObject {
  return {
    key,
    contentType,
    bytes: body.length,
    sha256: digest(body),
    body: () => Promise.resolve(body),
  };
}

function digest(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** The file as it was digested and signed. @throws NonRetryableError where it is another one now, or gone */
async function reread(path: string, sha256: string): Promise<Buffer> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw new NonRetryableError(`${path} cannot be read again: ${readable(error)}. Submit a new run.`, {
      cause: error,
    });
  }
  if (digest(bytes) === sha256) return bytes;
  throw new NonRetryableError(`${path} is not the file any more that was signed. Submit a new run.`);
}

function placeOf(release: Release): Published {
  return {
    bucket: release.bucket,
    objects: objectsOf(release).map(({ key, bytes, sha256 }) => ({ key, bytes, sha256 })),
  };
}

/**
 * Puts a release's objects, each with the step's key, one after the other. What a killed worker has put before is put again, the
 * same bytes.
 * @throws NotDoneError where it is certain that no object of this call is, or will be, put that was not answered for; anything
 *   else is an unknown outcome
 */
export async function publish(
  release: Release,
  { idempotencyKey, signal }: Pick<StepContext, "idempotencyKey" | "signal">,
): Promise<Published> {
  const bodies = await Promise.all(
    objectsOf(release).map(async (object) => ({ ...object, body: await object.body() })),
  ).catch((error: unknown) => {
    throw notDone(error);
  });
  using store = await openReleases(release.bucket, signal);
  for (const object of bodies) {
    await store.put({ ...object, metadata: { [KEY]: idempotencyKey } }).catch((error: unknown) => {
      throw certainlyNot(error) ? notDone(error) : error;
    });
  }
  return placeOf(release);
}

/**
 * Asks S3 whether a release was made. It is asked only after the claim that began it is over, with all that had been sent by then
 * (`timing.actsMargin`, which is above a request's time-out): so a signature that is not there cannot come any more.
 */
export async function published(
  release: Release,
  { idempotencyKey, signal }: Pick<ProbeContext, "idempotencyKey" | "signal">,
): Promise<ProbeAnswer<Published>> {
  using store = await openReleases(release.bucket, signal);
  const place = placeOf(release);
  const found = await store.head(place.objects.at(-1)?.key ?? "");
  if (found === undefined) return { outcome: "cannot_happen" };
  // Somebody else's: whether it has taken the place of ours nobody can tell.
  return found.metadata[KEY] === idempotencyKey
    ? { outcome: "happened", result: place }
    : { outcome: "unknown" };
}
