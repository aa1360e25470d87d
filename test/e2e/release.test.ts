import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { publish } from "../../packages/workflows/src/release-gate/publish.ts";
import { releaseIn } from "../../packages/workflows/src/release-gate/release.support.ts";
import { startSigning } from "../../packages/workflows/src/signing-service/service.support.ts";
import { testS3 } from "../support/s3.ts";

const folder = await mkdtemp(join(tmpdir(), "ghouls-release-"));
afterAll(() => rm(folder, { recursive: true, force: true }));
const s3 = await testS3();

/** The shell commands of a README below a heading. */
async function commandsBelow(heading: string): Promise<string> {
  const readme = await readFile(new URL("../../packages/workflows/README.md", import.meta.url), "utf8");
  const [, section = ""] = readme.split(`### ${heading}\n`);
  const [before = ""] = section.split("\n### ");
  return [...before.matchAll(/```sh\n(.*?)```/gs)].map(([, block = ""]) => block).join("");
}

/** What they print, in a folder with these files. They end at the first that fails. */
async function run(commands: string, cwd: string): Promise<string> {
  const { stdout } = await promisify(execFile)("bash", ["-e", "-o", "pipefail", "-c", commands], { cwd });
  return stdout;
}

test("the README's commands find a release in S3 and verify it without Ghouls, and find out what was changed", async () => {
  s3.useEnvironment();
  const data = join(folder, ".ghouls", "services", "signer");
  await mkdir(data, { recursive: true });
  const { url } = await startSigning(data);
  const release = await releaseIn(folder, "run-1", s3.bucket, data);
  await publish(release, { idempotencyKey: "key-1", signal: new AbortController().signal });
  const s3Url = process.env["AWS_ENDPOINT_URL"];
  await writeFile(join(folder, ".ghouls", "dev.json"), JSON.stringify({ s3Url }));
  await writeFile(
    join(folder, ".ghouls", "services", "ports.json"),
    JSON.stringify({ signer: Number(new URL(url).port) }),
  );
  const commands = (await commandsBelow("Check a release without Ghouls")).replace("<run id>", "run-1");
  expect(commands).toContain("openssl");
  expect(await run(commands, folder)).toBe(
    `${release.signed.statement}1\n1\nSignature Verified Successfully\nsigned by this machine's service\n`,
  );

  const forged = { ...release, signed: { ...release.signed, statement: `${release.signed.statement} ` } };
  await publish(forged, { idempotencyKey: "key-1", signal: new AbortController().signal });
  await expect(run(commands, folder)).rejects.toThrow(/pkeyutl/);
  await s3.put("releases/run-1/bom.json", "{}");
  await expect(run(commands, folder)).rejects.toThrow();
});
