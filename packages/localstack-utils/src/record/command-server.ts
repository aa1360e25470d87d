import { createCipheriv } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { JsonObject, Place } from "./graph.ts";

interface BuildRequest {
  readonly functionID: string;
  readonly handler: string;
  readonly bundle?: string | null;
  readonly links: JsonObject;
  readonly encryptionKey: string;
}

/**
 * Answers as the server that the SST command runs beside the program.
 * @throws Error on a method that nobody has thought of
 */
export function answerRpc(method: string, args: JsonObject, place: Place, root: string): unknown {
  switch (method) {
    case "Provider.Aws.Bootstrap":
      return {
        asset: "sst-asset-mock",
        state: "sst-state-mock",
        assetEcrRegistryId: place.account,
        assetEcrUrl: `${place.account}.dkr.ecr.${place.region}.amazonaws.com/sst-asset`,
      };
    case "Provider.Aws.Appsync": // asked for by `sst dev`
      return { http: "mock.appsync-api.amazonaws.com", realtime: "mock.appsync-realtime-api.amazonaws.com" };
    case "Runtime.AddTarget": // told by `sst dev`
      return true;
    case "Runtime.Build":
      return takeBundle(args as unknown as BuildRequest, root);
    default:
      throw new Error(`no answer is known to the call ${method}: add it to command-server.ts`);
  }
}

/** The command takes a folder that is built already as it is, and seals the function's links beside the code. */
function takeBundle(
  { functionID, handler, bundle, links, encryptionKey }: BuildRequest,
  root: string,
): object {
  const refuse = (error: string) => ({ handler: "", out: "", errors: [error], sourcemaps: [] });
  if (typeof bundle !== "string" || bundle === "")
    return refuse(
      `${functionID} (${handler}) has no "bundle": only functions that are built already can be recorded`,
    );
  const out = resolve(root, bundle);
  if (!existsSync(out)) return refuse(`${functionID}: its bundle ${out} does not exist`);
  writeFileSync(join(out, "resource.enc"), sealed(links, encryptionKey));
  return { handler, out, errors: [], sourcemaps: [] };
}

/** AES-256-GCM under the function's SST_KEY with an empty nonce, the tag at the end: what SST's library opens. */
function sealed(links: JsonObject, key: string): Buffer {
  const cipher = createCipheriv("aes-256-gcm", Buffer.from(key, "base64"), Buffer.alloc(12));
  return Buffer.concat([cipher.update(JSON.stringify(links)), cipher.final(), cipher.getAuthTag()]);
}
