import { createPublicKey, verify } from "node:crypto";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../release-gate/fixtures.ts";
import { REQUEST, callee, startSigning, submit } from "./service.support.ts";
import type { Signed } from "./statement.ts";
import { signatureFault, statementText } from "./statement.ts";

// Real processes on a machine that may be busy.

interface Report {
  readonly state: string;
  readonly result?: Signed;
  readonly error?: { readonly code: string };
}
const look = async (url: string, key: string): Promise<Report> =>
  (await (await fetch(`${url}/jobs/${encodeURIComponent(key)}`)).json()) as Report;
const cancel = async (url: string, key: string): Promise<Report> =>
  (await (await fetch(`${url}/jobs/${encodeURIComponent(key)}`, { method: "DELETE" })).json()) as Report;
const signed = async (url: string, key: string): Promise<Signed> => {
  await expect.poll(async () => (await look(url, key)).state).toBe("succeeded");
  return (await look(url, key)).result ?? { statement: "", signature: "", publicKey: "" };
};
/** Far longer than any test: what waits for its turn so long is not signed. */
const NEVER = { TURN_MS: "1000000" };

test("what is submitted is accepted, then signed: the exact bytes of its statement, with the key that anybody may ask for", async () => {
  const { url } = await startSigning(await temporaryFolder());
  const answer = await submit(url, "k-1");
  expect([answer.status, await answer.json()]).toEqual([202, { state: "accepted" }]);
  const result = await signed(url, "k-1");
  expect(result.statement).toBe(
    `{"bom":{"sha256":"${"a".repeat(64)}"},"decidedBy":["user:ada"],"runId":"${REQUEST.runId}",` +
      `"verdict":{"release":true,"sha256":"${"b".repeat(64)}"}}\n`,
  );
  const key = await (await fetch(`${url}/public-key`)).text();
  expect(result.publicKey).toBe(key);
  const signature = Buffer.from(result.signature, "base64");
  expect(signature).toHaveLength(64);
  expect(verify(null, Buffer.from(result.statement), createPublicKey(key), signature)).toBe(true);
  expect(signatureFault(REQUEST, result)).toBeUndefined();
});

test("the same key again is the same job in its present state, with another request it is refused", async () => {
  const { url } = await startSigning(await temporaryFolder());
  await submit(url, "k-1/2");
  const result = await signed(url, "k-1/2");
  const reordered = Object.fromEntries(Object.entries(REQUEST).toReversed());
  const again = await submit(url, "k-1/2", reordered);
  expect([again.status, await again.json()]).toEqual([200, { state: "succeeded", result }]);
  const other = await submit(url, "k-1/2", { ...REQUEST, runId: "another" });
  expect([other.status, await other.json()]).toMatchObject([409, { error: { code: "key_reused" } }]);
  expect(await look(url, "k-1/2")).toEqual({ state: "succeeded", result });
});

test("a kill between the answer and the signature loses nothing: the next start signs, once, with the same key", async () => {
  const folder = await temporaryFolder();
  const first = await startSigning(folder, NEVER);
  const { url: callback, calls } = await callee();
  const headers = { "ghouls-callback-url": callback, "ghouls-callback-token": "secret-1" };
  expect((await submit(first.url, "k-1", REQUEST, headers)).status).toBe(202);
  const key = await (await fetch(`${first.url}/public-key`)).text();
  await first.kill();
  expect(calls).toEqual([]);
  // What a kill in the middle of a write leaves.
  await writeFile(join(folder, "jobs", "x.json.1.draft"), '{"state":');

  const second = await startSigning(folder, { PORT: new URL(first.url).port });
  expect(second.url).toBe(first.url);
  const result = await signed(second.url, "k-1");
  expect(result.publicKey).toBe(key);
  await expect.poll(() => calls.length).toBe(1);
  expect(calls[0]).toMatchObject({
    path: "/callback",
    headers: { "ghouls-callback-token": "secret-1", "content-type": "application/json" },
    body: { state: "succeeded", result },
  });
  await expect.poll(async () => readFile(await jobFile(folder), "utf8")).not.toContain("secret-1");
  await second.kill();
  const third = await startSigning(folder);
  expect(await signed(third.url, "k-1")).toEqual(result);
  expect(calls).toHaveLength(1);
});

async function jobFile(folder: string): Promise<string> {
  const names = await readdir(join(folder, "jobs"));
  expect(names).toHaveLength(1);
  return join(folder, "jobs", names[0] ?? "");
}

test("a kill between the signature and its report leaves that to the next start", async () => {
  const folder = await temporaryFolder();
  const first = await startSigning(folder);
  // Nobody listens there yet.
  const unreached = await callee([
    "hang up",
    "hang up",
    "hang up",
    "hang up",
    "hang up",
    "hang up",
    "hang up",
  ]);
  await submit(first.url, "k-1", REQUEST, {
    "ghouls-callback-url": unreached.url,
    "ghouls-callback-token": "secret-1",
  });
  const result = await signed(first.url, "k-1");
  await expect.poll(() => unreached.calls.length).toBeGreaterThan(1);
  await first.kill();
  const told = unreached.calls.length;
  await startSigning(folder);
  await expect.poll(() => unreached.calls.length).toBeGreaterThan(told);
  expect(unreached.calls.at(-1)?.body).toEqual({ state: "succeeded", result });
});

test("a cancelled key stays cancelled, whether it was there before or comes later, and over a kill", async () => {
  const folder = await temporaryFolder();
  const first = await startSigning(folder, NEVER);
  await submit(first.url, "accepted");
  expect(await cancel(first.url, "accepted")).toEqual({ state: "cancelled" });
  expect(await cancel(first.url, "unknown")).toEqual({ state: "cancelled" });
  await first.kill();
  const second = await startSigning(folder);
  for (const key of ["accepted", "unknown"]) {
    const late = await submit(second.url, key);
    expect([late.status, await late.json()]).toEqual([200, { state: "cancelled" }]);
    expect(await cancel(second.url, key)).toEqual({ state: "cancelled" });
    expect(await look(second.url, key)).toEqual({ state: "cancelled" });
  }
});

test("a job that was signed before its cancel answers its signature", async () => {
  const { url } = await startSigning(await temporaryFolder());
  await submit(url, "k-1");
  const result = await signed(url, "k-1");
  expect(await cancel(url, "k-1")).toEqual({ state: "succeeded", result });
});

test("a submission and a cancel at once end as one of both, for good", async () => {
  const { url } = await startSigning(await temporaryFolder());
  for (let round = 0; round < 20; round += 1) {
    const key = `k-${round}`;
    await Promise.all([submit(url, key), cancel(url, key), submit(url, key)]);
    await expect.poll(async () => (await look(url, key)).state).not.toBe("accepted");
    const { state } = await look(url, key);
    expect((await cancel(url, key)).state).toBe(state);
  }
});

test("a key that was never taken is not there", async () => {
  const { url } = await startSigning(await temporaryFolder());
  const answer = await fetch(`${url}/jobs/none`);
  expect([answer.status, await answer.json()]).toMatchObject([404, { error: { code: "no_such_job" } }]);
});

test.each([
  ["no key", REQUEST, { "idempotency-key": "" }, 400, undefined],
  ["a key that is too long", REQUEST, { "idempotency-key": "k".repeat(256) }, 400, undefined],
  ["another content type", REQUEST, { "content-type": "text/plain" }, 415, undefined],
  ["a body that is no JSON", "{", {}, 422, "failed"],
  ["a member that it does not know", { ...REQUEST, also: 1 }, {}, 422, "failed"],
  ["a digest that is none", { ...REQUEST, bom: { sha256: "a" } }, {}, 422, "failed"],
  ["nobody who decided", { ...REQUEST, decidedBy: [] }, {}, 422, "failed"],
  ["a body that is too large", { ...REQUEST, runId: "r".repeat(70_000) }, {}, 413, "failed"],
  [
    "a callback on another machine",
    REQUEST,
    { "ghouls-callback-url": "http://10.0.0.1/", "ghouls-callback-token": "t" },
    422,
    "failed",
  ],
])("a submission with %s is refused, and is no job", async (_, body, headers, status, state) => {
  const { url } = await startSigning(await temporaryFolder());
  const answer = await submit(url, "k-1", body, headers);
  const report = (await answer.json()) as Report;
  expect([answer.status, report.state]).toEqual([status, state]);
  expect(report.error?.code).toMatch(/^[a-z_]+$/);
  expect((await fetch(`${url}/jobs/k-1`)).status).toBe(404);
});

test.each([
  ["GET", "/", 404],
  ["GET", "/jobs", 405],
  ["PUT", "/jobs/k", 405],
  ["GET", "/jobs/k/more", 404],
  ["POST", "/public-key", 404],
  ["GET", "/jobs/%zz", 400],
  ["GET", "//else", 404],
])("%s %s is answered %i", async (method, path, status) => {
  const { url } = await startSigning(await temporaryFolder());
  const { port } = new URL(url);
  const answer = await new Promise<number | undefined>((resolve) => {
    httpRequest({ host: "127.0.0.1", port, method, path }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).end();
  });
  expect(answer).toBe(status);
});

test("what it cannot read ends a request, and nothing of it is told; who hangs up ends nothing", async () => {
  const folder = await temporaryFolder();
  const { url, process: child } = await startSigning(folder, NEVER);
  let log = "";
  child.stdout?.setEncoding("utf8").on("data", (part: string) => (log += part));
  await submit(url, "k-1", { ...REQUEST, runId: "a-secret" });
  await writeFile(await jobFile(folder), "{");
  const answer = await fetch(`${url}/jobs/k-1`);
  expect([answer.status, await answer.json()]).toMatchObject([500, { error: { code: "internal" } }]);
  await expect.poll(() => log).toContain("a request failed: SyntaxError");

  const half = connect(Number(new URL(url).port), "127.0.0.1");
  half.write(
    "POST /jobs HTTP/1.1\r\nHost: s\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\nContent-Length: 9\r\n\r\n{",
  );
  half.once("connect", () => setImmediate(() => half.destroy()));
  await expect.poll(async () => (await fetch(`${url}/public-key`)).status).toBe(200);
  expect(log).not.toContain("a-secret");
});

test("it ends where its jobs cannot be read, or its key is none, or nobody says where they are", async () => {
  const folder = await temporaryFolder();
  const first = await startSigning(folder);
  await first.kill();
  await writeFile(join(folder, "jobs", "x.json"), "{}");
  await expect(startSigning(folder)).rejects.toThrow("ended before");
  const other = await temporaryFolder();
  await writeFile(join(other, "key.pem"), "no key");
  await expect(startSigning(other)).rejects.toThrow("ended before");
  await expect(startSigning("")).rejects.toThrow("ended before");
});

test("its key and its jobs are its owner's alone, and it listens on loopback only", async () => {
  const folder = await temporaryFolder();
  const { url, process: child } = await startSigning(folder, NEVER);
  await submit(url, "k-1");
  for (const file of [join(folder, "key.pem"), await jobFile(folder)])
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(join(folder, "jobs"))).mode & 0o777).toBe(0o700);
  expect(await readFile(join(folder, "key.pem"), "utf8")).toContain("PRIVATE KEY");
  if (process.platform !== "linux") return;
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, "0");
  const sockets = await Promise.all(
    ["tcp", "tcp6"].map((name) => readFile(`/proc/${child.pid}/net/${name}`, "utf8")),
  );
  const listening = sockets
    .join("\n")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = "", , state]) => state === "0A" && local.endsWith(`:${port}`));
  expect(listening.map(([, local]) => local)).toEqual([`0100007F:${port}`]);
});

test("what is signed is told from what is not", async () => {
  const { url } = await startSigning(await temporaryFolder());
  await submit(url, "k-1");
  const result = await signed(url, "k-1");
  expect(statementText(REQUEST)).toBe(result.statement);
  const other = { ...REQUEST, runId: "another" };
  expect(signatureFault(other, result)).toBe("it signed another statement");
  const forged = { ...result, statement: statementText(other) };
  expect(signatureFault(other, forged)).toBe("its signature does not fit its statement");
  expect(signatureFault(REQUEST, { ...result, publicKey: "none" })).toMatch(/public key is none/);
});
