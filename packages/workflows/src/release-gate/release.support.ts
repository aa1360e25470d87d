import { join } from "node:path";
import { openSigner } from "../signing-service/keys.ts";
import type { SignRequest, Signed } from "../signing-service/statement.ts";
import type { Release } from "./publish.ts";
import { writeAtomically } from "./write.ts";

/** For tests: signs as the service does, with a key that is kept in the folder. */
export async function signedIn(folder: string, request: SignRequest): Promise<Signed> {
  return (await openSigner(folder)).sign(request);
}

/** For tests: a release whose files lie in the folder, signed with the key of another one or this. */
export async function releaseIn(
  folder: string,
  runId: string,
  bucket = "releases",
  keyFolder = folder,
): Promise<Release> {
  const bom = await writeAtomically(join(folder, "out"), "bom.json", '{"bomFormat":"CycloneDX"}\n');
  const verdict = await writeAtomically(join(folder, "out"), "verdict.json", '{"decision":"PASSED"}\n');
  const signed = await signedIn(keyFolder, {
    bom: { sha256: bom.sha256 },
    verdict: { sha256: verdict.sha256, release: true },
    decidedBy: ["user:ada"],
    runId,
  });
  return { bucket, runId, bom, verdict, signed };
}
