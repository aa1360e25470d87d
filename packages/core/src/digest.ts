import { createHash } from "node:crypto";

/** SHA-256 of the UTF-8 bytes of a text, in lower-case hex. */
export function sha256(text: string): string {
  return createHash("sha256").update(text, "utf8").digest("hex");
}

/** SHA-256 of bytes, in lower-case hex. */
export function sha256OfBytes(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
