import { createHash } from "node:crypto";
import { writeFile, rm } from "node:fs/promises";
import { NotDoneError } from "ghouls";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { testS3 } from "../../../../test/support/s3.ts";
import { temporaryFolder } from "./fixtures.ts";
import { publish, published } from "./publish.ts";
import type { Release } from "./publish.ts";
import { releaseIn } from "./release.support.ts";

const s3 = await testS3();
let release: Release;
let run = 0;
beforeEach(async () => {
  s3.forget();
  s3.useEnvironment();
  release = await releaseIn(await temporaryFolder(), `run-${(run += 1)}`);
});
afterEach(() => vi.unstubAllEnvs());

const step = (idempotencyKey = "key-1", signal = new AbortController().signal) => ({
  idempotencyKey,
  signal,
});
const NAMES = ["bom.json", "verdict.json", "signer.pub.pem", "statement.json", "statement.sig"];
const keyOf = (name: string) => `releases/${release.runId}/${name}`;

describe("a release", () => {
  test("is put object by object, its signature last, each with the step's key", async () => {
    const place = await publish(release, step());
    expect(s3.puts).toEqual(NAMES.map(keyOf));
    expect(place.bucket).toBe("releases");
    expect(place.objects.map(({ key }) => key)).toEqual(s3.puts);
    for (const { key, bytes, sha256 } of place.objects) {
      const object = await s3.object(key);
      const found = object?.bytes ?? Buffer.of();
      expect([found.length, createHash("sha256").update(found).digest("hex")]).toEqual([bytes, sha256]);
      expect(object?.metadata).toEqual({ "idempotency-key": "key-1" });
    }
    const signature = await s3.object(keyOf("statement.sig"));
    expect(signature?.bytes.toString("base64")).toBe(release.signed.signature);
    expect(signature?.bytes).toHaveLength(64);
    expect((await s3.object(keyOf("statement.json")))?.bytes.toString()).toBe(release.signed.statement);
    expect((await s3.object(keyOf("signer.pub.pem")))?.bytes.toString()).toBe(release.signed.publicKey);
    expect(await published(release, step())).toEqual({ outcome: "happened", result: place });
  });

  test("that is put again has the same bytes in the same places", async () => {
    const first = await publish(release, step());
    const bytes = await s3.object(keyOf("statement.sig"));
    expect(await publish(release, step())).toEqual(first);
    expect(await s3.object(keyOf("statement.sig"))).toEqual(bytes);
  });

  test("whose file was changed after its digest was signed is not put, and certainly not", async () => {
    await writeFile(release.verdict.path, '{"decision":"REFUSED"}\n');
    const publishing = publish(release, step());
    await expect(publishing).rejects.toBeInstanceOf(NotDoneError);
    await expect(publishing).rejects.toThrow(/not the file any more that was signed/);
    await rm(release.verdict.path);
    await expect(publish(release, step())).rejects.toThrow(/cannot be read again: there is no such file/);
    expect(s3.puts).toEqual([]);
  });

  test.each(["bom.json", "statement.sig"])("that S3 refuses at %s is certainly none", async (name) => {
    s3.fate(name, 403);
    await expect(publish(release, step())).rejects.toBeInstanceOf(NotDoneError);
    expect(s3.puts.at(-1)).toBe(keyOf(name));
    expect(await published(release, step())).toEqual({ outcome: "cannot_happen" });
  });

  test("that nobody listens for is certainly none", async () => {
    vi.stubEnv("AWS_ENDPOINT_URL", "http://127.0.0.1:1");
    await expect(publish(release, step())).rejects.toBeInstanceOf(NotDoneError);
  });

  test.each([
    ["whose signature's answer is lost", "lose-answer", "happened"],
    ["whose signature is lost on its way", "lose-request", "cannot_happen"],
    ["whose signature S3 fails at", 500, "cannot_happen"],
  ] as const)(
    "%s is unknown, put once, and told from S3; and nothing of it is on its way when that is said",
    async (_, fate, outcome) => {
      s3.fate("statement.sig", fate);
      const began = performance.now();
      const publishing = publish(release, step());
      await expect(publishing).rejects.toThrow();
      await expect(publishing).rejects.not.toBeInstanceOf(NotDoneError);
      // timing.actsMargin of the project, after which a request is over.
      expect(performance.now() - began).toBeGreaterThanOrEqual(4_990);
      expect(s3.puts.filter((key) => key.endsWith("statement.sig"))).toHaveLength(1);
      expect((await published(release, step())).outcome).toBe(outcome);
    },
  );

  test("that is taken away from its worker, or that S3 is silent about, is unknown soon", async () => {
    s3.fate("verdict.json", "silence");
    const seen = s3.seen("verdict.json");
    const abort = new AbortController();
    const publishing = publish(release, step("key-1", abort.signal));
    await seen;
    abort.abort();
    await expect(publishing).rejects.toMatchObject({ name: "AbortError" });
    s3.fate("bom.json", "silence");
    await expect(publish(release, step())).rejects.toThrow();
    expect(s3.puts.filter((key) => key.endsWith("bom.json"))).toHaveLength(2);
  });

  test("in whose place there is another's signature is unknown: nobody can tell whether ours was there", async () => {
    await s3.put(keyOf("statement.sig"), "another", { "idempotency-key": "key-2" });
    expect(await published(release, step())).toEqual({ outcome: "unknown" });
    await s3.put(keyOf("statement.sig"), "another");
    expect(await published(release, step())).toEqual({ outcome: "unknown" });
  });

  test("is nothing that S3 can be asked about where it does not answer", async () => {
    vi.stubEnv("AWS_ENDPOINT_URL", "http://127.0.0.1:1");
    await expect(published(release, step())).rejects.toThrow();
  });
});
