import { GhoulsError, parseJson, wire } from "@ghouls/core";
import type { Context, Next } from "hono";
import type { ApiEnv } from "./context.ts";
import { EdgeError } from "./problems.ts";

/**
 * Reads, bounds and checks a JSON body before anything else parses it, and leaves it as `json`. What comes after sees a
 * plain request that holds the checked text.
 * @throws EdgeError unsupported_media_type; GhoulsError too_large, malformed_json, invalid_request (with paths)
 */
export async function jsonBody(context: Context<ApiEnv>, next: Next): Promise<void> {
  const request = context.req.raw;
  refuseOtherMedia(request.headers);
  const text = decode(await readBounded(request, wire.MAX_BODY_BYTES));
  context.set("json", parseJson(text));
  const headers = new Headers(request.headers);
  headers.set("content-type", "application/json");
  headers.delete("content-length");
  context.req.raw = new Request(request.url, { method: request.method, headers, body: text });
  await next();
}

function refuseOtherMedia(headers: Headers): void {
  const fix = "Send the body as JSON in UTF-8, not compressed, with `Content-Type: application/json`.";
  const type = headers.get("content-type") ?? "";
  if (!/^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(type.trim())) {
    throw new EdgeError("unsupported_media_type", "The body is not declared as application/json.", fix);
  }
  const encoding = headers.get("content-encoding") ?? "identity";
  if (encoding.trim().toLowerCase() !== "identity") {
    throw new EdgeError("unsupported_media_type", "A compressed body is not taken.", fix);
  }
}

/** Counts bytes as they come, since a chunked body announces no length and an announced one may be wrong. */
async function readBounded(request: Request, limit: number): Promise<Uint8Array> {
  if (Number(request.headers.get("content-length") ?? 0) > limit) throw tooLarge(limit);
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new GhoulsError("malformed_json", "The body broke off before its end.", {
        fix: "Send it again.",
      });
    });
    if (done) return Buffer.concat(chunks);
    size += value.byteLength;
    if (size > limit) {
      // The rest is not wanted; whether its sender hears of that does not change the answer.
      reader.cancel().catch(() => undefined);
      throw tooLarge(limit);
    }
    chunks.push(value);
  }
}

function tooLarge(limit: number): GhoulsError {
  return new GhoulsError("too_large", `The body is larger than ${limit} bytes.`, {
    fix: "Send a smaller body: fewer runs in a batch, or a reference to the data instead of the data.",
  });
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new GhoulsError("malformed_json", "The body is not valid UTF-8.", {
      fix: "Send one JSON document in UTF-8.",
    });
  }
}
