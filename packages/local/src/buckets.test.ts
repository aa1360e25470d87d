import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { openBuckets } from "./buckets.ts";
import { cleanEnv } from "./fake-parts.support.ts";
import { openLog } from "./log.ts";
import type { SqsServer } from "./sqs.ts";
import { startSqs } from "./sqs.ts";

// Real processes on a machine that may be busy.

const folder = mkdtempSync(join(tmpdir(), "ghouls-buckets-"));
const log = openLog(join(folder, "log"), () => undefined);
const started: SqsServer[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.stop()));
});
afterAll(async () => {
  await log.close();
  rmSync(folder, { recursive: true, force: true });
});

async function embedded() {
  const server = await startSqs({ dataDir: folder, region: "us-east-1", env: cleanEnv(), log });
  started.push(server);
  return { server, connection: { region: "us-east-1", endpoint: server.endpoint }, ended: server.ended };
}

const BUCKETS = { RELEASES_BUCKET: "releases" };

describe("the buckets of a project", () => {
  test("are made on the embedded server, and keep their objects over a restart, also after its SIGKILL", async () => {
    const first = await embedded();
    const opened = await openBuckets(BUCKETS, {}, first);
    expect(opened).toEqual({ variables: BUCKETS, s3Url: first.server.endpoint });
    const headers = { "x-amz-meta-key": "k-1", "content-type": "text/plain" };
    const put = { method: "PUT", body: "signed", headers };
    expect((await fetch(`${first.server.endpoint}/releases/a/b.sig`, put)).status).toBe(200);
    first.server.kill();
    await first.server.ended;

    const second = await embedded();
    await openBuckets(BUCKETS, {}, second);
    const found = await fetch(`${second.server.endpoint}/releases/a/b.sig`);
    expect([found.headers.get("x-amz-meta-key"), await found.text()]).toEqual(["k-1", "signed"]);
  });

  test("have the name that the user's variable gives", async () => {
    const server = await embedded();
    const { variables } = await openBuckets({ OWN_BUCKET: "theirs" }, { OWN_BUCKET: "mine" }, server);
    expect(variables).toEqual({ OWN_BUCKET: "mine" });
    expect((await fetch(`${server.connection.endpoint}/mine`)).status).toBe(200);
    expect((await fetch(`${server.connection.endpoint}/theirs`)).status).toBe(404);
  });

  test("that the server does not take are told", async () => {
    const refused = openBuckets({ B: "UPPER" }, {}, await embedded());
    await expect(refused).rejects.toThrow(/the bucket "UPPER" cannot be made: status 400/);
  });

  test("elsewhere must be named, and nothing is made there", async () => {
    const elsewhere = { connection: { region: "r", endpoint: "http://127.0.0.1:1" }, ended: undefined };
    await expect(openBuckets(BUCKETS, {}, elsewhere)).rejects.toMatchObject({
      code: "configuration_invalid",
      message: expect.stringContaining("RELEASES_BUCKET must be set"),
    });
    const named = await openBuckets(BUCKETS, { RELEASES_BUCKET: "mine" }, elsewhere);
    expect(named).toEqual({ variables: {}, s3Url: undefined });
  });

  test("that nobody has need no server and no word", async () => {
    const server = await embedded();
    expect(await openBuckets({}, {}, server)).toEqual({ variables: {}, s3Url: undefined });
  });
});
