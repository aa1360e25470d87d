import { createHash } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Validation } from "@cyclonedx/cyclonedx-library";
import cacache from "cacache";
import { NonRetryableError } from "ghouls";
import type { DelegateResult } from "ghouls";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { testS3 } from "../../../../test/support/s3.ts";
import { signer } from "../signer.ts";
import type { Signed, SignRequest } from "../signing-service/statement.ts";
import { sha256 } from "./files.ts";
import { lockfileText, temporaryFolder } from "./fixtures.ts";
import { releaseGate } from "./release-gate.ts";
import { signedIn } from "./release.support.ts";
import { Report, Verdict } from "./verdict.ts";

type Context = Parameters<typeof releaseGate.run>[0];
type Journal = Map<string, string>;

let folder: string;
let lockfile: string;
let output: string;
let asked: unknown[] = [];
let answer: unknown;
/** What was to be signed, and what the service answers instead of signing it. */
let toSign: SignRequest[] = [];
let job: DelegateResult<Signed> | undefined;
const s3 = await testS3();
beforeEach(async () => {
  asked = [];
  answer = undefined;
  toSign = [];
  job = undefined;
  s3.forget();
  s3.useEnvironment();
  folder = await temporaryFolder();
  lockfile = join(folder, "package-lock.json");
  output = join(folder, "out");
  vi.stubEnv("npm_config_cache", folder);
  vi.stubEnv("npm_config_registry", "https://registry.example.org/");
});
afterEach(() => vi.unstubAllEnvs());

/** Runs the workflow over a journal, as the engine does: what is in it is not run again. */
async function run(
  input: Record<string, string>,
  journal: Journal = new Map(),
  before?: (step: string) => unknown,
) {
  const step = async (
    name: string,
    body: (context: { signal: AbortSignal; idempotencyKey: string }) => unknown,
  ): Promise<unknown> => {
    if (!journal.has(name)) {
      await before?.(name);
      journal.set(
        name,
        JSON.stringify(await body({ signal: new AbortController().signal, idempotencyKey: name })),
      );
    }
    return JSON.parse(journal.get(name) ?? "") as unknown;
  };
  const uuid = "5f6bf0da-5469-48fb-8a0c-712290865470";
  const consent = (title: string, options: unknown) => {
    asked.push([title, options]);
    return Promise.resolve(answer);
  };
  const delegate = async (name: string, service: unknown, request: SignRequest, options: unknown) => {
    expect([name, service, options]).toEqual(["sign", signer, { deadline: "1h" }]);
    toSign.push(signer.request.parse(request) as SignRequest);
    const signed = async () => ({
      outcome: "SUCCEEDED",
      attemptId: "attempt-1",
      result: await signedIn(folder, request),
    });
    return job ?? signed();
  };
  const context = {
    runId: "run-1",
    step,
    consent,
    delegate,
    now: () => new Date("2026-11-29T12:00:00Z"),
    uuid: () => uuid,
  };
  return Report.parse(await releaseGate.run(context as unknown as Context, releaseGate.input.parse(input)));
}

/** A lockfile with so many packages, whose tarballs hold their names. */
async function writeLockfile(count: number, changes: Record<string, unknown> = {}): Promise<void> {
  const entries = Array.from({ length: count }, (_, index): [string, unknown] => {
    const integrity = `sha512-${createHash("sha512").update(`p${index}`).digest("base64")}`;
    return [`node_modules/p${index}`, { version: "1.0.0", license: "MIT", integrity }];
  });
  await writeFile(lockfile, lockfileText({ ...Object.fromEntries(entries), ...changes }));
}

async function fillCache(count: number, content = (index: number) => `p${index}`): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const key = `make-fetch-happen:request-cache:https://registry.example.org/p${index}/-/p${index}-1.0.0.tgz`;
    await cacache.put(join(folder, "_cacache"), key, content(index));
  }
}

const files = () =>
  Promise.all(["bom.json", "verdict.json"].map((name) => readFile(join(output, name), "utf8")));

test("verifies in steps of 50, and writes the bom and the verdict that it returns", async () => {
  await writeLockfile(101);
  await fillCache(60);
  const journal: Journal = new Map();
  const verdict = await run({ lockfile, output }, journal);
  expect([...journal.keys()]).toEqual([
    "read lockfile",
    "judge licences",
    "verify packages 1 to 50 of 101",
    "verify packages 51 to 100 of 101",
    "verify packages 101 to 101 of 101",
    "write bom",
    "write verdict",
    "publish",
  ]);
  expect(verdict).toMatchObject({
    decision: "PASSED",
    components: 101,
    integrity: { verified: 60, not_in_cache: 41, mismatch: 0, no_integrity: 0 },
  });
  const [bom = "", written = ""] = await files();
  expect(JSON.parse(written)).toEqual(Verdict.parse(verdict));
  expect(verdict.bom).toEqual({
    path: join(output, "bom.json"),
    bytes: Buffer.byteLength(bom),
    sha256: sha256(bom),
  });
});

test("what passed is signed, bom and verdict and who decided, and published as it was signed", async () => {
  await writeLockfile(1);
  const { signature, published, policy } = await run({ lockfile, output });
  const [bom = "", verdict = ""] = await files();
  const request = {
    bom: { sha256: sha256(bom) },
    verdict: { sha256: sha256(verdict), release: true },
    decidedBy: [`policy:${policy.name}@${policy.sha256.slice(0, 12)}`],
    runId: "run-1",
  };
  expect(toSign).toEqual([request]);
  const signed = await signedIn(folder, request);
  expect(signature).toEqual({
    algorithm: "ed25519",
    attemptId: "attempt-1",
    statement: { sha256: sha256(signed.statement) },
    publicKey: { sha256: sha256(signed.publicKey) },
  });
  expect(published?.objects.map(({ key }) => key)).toEqual(s3.puts);
  const found = await Promise.all(s3.puts.map(async (key) => (await s3.object(key))?.bytes.toString()));
  expect(found.slice(0, 4)).toEqual([bom, verdict, signed.publicKey, signed.statement]);
});

test.each<[string, DelegateResult<Signed>, RegExp]>([
  [
    "whom the service refuses",
    { outcome: "FAILED", attemptId: "a", error: { code: "no", message: "not today" } },
    /^Not signed: the signing service refused \(no: not today\)\.$/,
  ],
  [
    "whose job is cancelled",
    { outcome: "CANCELLED", attemptId: "a" },
    /^Not signed: its job .* was cancelled\.$/,
  ],
  ["that is not signed in time", { outcome: "DEADLINE", attemptId: "a" }, /^Not signed: .* in time\.$/],
  [
    "that is answered by no signature",
    { outcome: "INVALID", attemptId: "a", result: 1, problem: "expected object" },
    /^Not signed: .* no signature \(expected object\)\.$/,
  ],
  [
    "that is answered by the signature of something else",
    { outcome: "SUCCEEDED", attemptId: "a", result: { statement: "{}", signature: "", publicKey: "" } },
    /^Not signed: .* it signed another statement\.$/,
  ],
])("a release %s is refused, in its file as well, and published nowhere", async (_, ended, reason) => {
  await writeLockfile(1);
  job = ended;
  const { signature, published, ...verdict } = await run({ lockfile, output });
  expect([verdict.decision, signature, published]).toEqual(["REFUSED", null, null]);
  expect(verdict.reasons[0]).toMatch(reason);
  expect(verdict.reasons.length).toBeGreaterThan(1);
  expect(JSON.parse((await files())[1] ?? "")).toEqual(verdict);
  expect(s3.puts).toEqual([]);
});

test("a worker that is lost at any step leaves a run whose repeat gives the same verdict and the same bytes", async () => {
  await writeLockfile(60);
  await fillCache(60);
  const whole: Journal = new Map();
  const verdict = await run({ lockfile, output }, whole);
  const first = await files();
  for (let kept = 0; kept < whole.size; kept += 1) {
    const journal: Journal = new Map([...whole].slice(0, kept));
    expect(await run({ lockfile, output }, journal)).toEqual(verdict);
    expect(await files()).toEqual(first);
  }
});

test("a tarball that differs from the lockfile refuses the release and is named", async () => {
  await writeLockfile(60);
  await fillCache(60, (index) => (index === 57 ? "evil" : `p${index}`));
  const verdict = await run({ lockfile, output });
  expect(verdict).toMatchObject({ decision: "REFUSED", mismatches: [{ package: "p57@1.0.0" }] });
  expect([verdict.signature, verdict.published, toSign, s3.puts]).toEqual([null, null, [], []]);
});

test("a questionable licence refuses the release with its list, own packages aside", async () => {
  await writeLockfile(1, {
    "node_modules/gpl": { version: "3.0.0", license: "GPL-3.0", integrity: "sha512-" },
    "packages/own": { version: "1.0.0", license: "UNLICENSED" },
  });
  const verdict = await run({ lockfile, output, questions: "policy" });
  expect(verdict.decision).toBe("REFUSED");
  expect(asked).toEqual([]);
  expect(verdict.questions).toEqual([
    {
      package: "gpl",
      version: "3.0.0",
      licence: "GPL-3.0",
      why: expect.stringContaining("GPL-3.0-only is denied"),
    },
  ]);
  expect(verdict.gaps.map((gap) => gap.package)).toEqual(["gpl@3.0.0"]);
});

test.each([
  ["GRANTED", "grant", "PASSED"],
  ["DENIED", "deny", "REFUSED"],
])(
  "people who are asked about a licence in question, and answer %s, decide",
  async (outcome, word, decision) => {
    const integrity = `sha512-${createHash("sha512").update("gpl").digest("base64")}`;
    await writeLockfile(1, { "node_modules/gpl": { version: "3.0.0", license: "GPL-3.0", integrity } });
    answer = {
      outcome,
      decisions: [{ by: "user:ada", verdict: word, at: "2026-11-30T00:00:00Z", comment: "read" }],
    };
    const verdict = await run({ lockfile, output });
    expect(verdict).toMatchObject({ decision, consent: answer });
    expect(asked).toEqual([
      [
        "release with these licences",
        {
          deciders: ["role:decider"],
          expires: "3d",
          detail: {
            lockfile: verdict.lockfile,
            policy: verdict.policy,
            questions: [expect.objectContaining({ package: "gpl" })],
            questionsOmitted: 0,
            bom: verdict.bom,
          },
        },
      ],
    ]);
    expect(JSON.parse((await files())[1] ?? "")).toEqual(Verdict.parse(verdict));
    // They answer for it.
    expect(toSign.map(({ decidedBy }) => decidedBy)).toEqual(decision === "PASSED" ? [["user:ada"]] : []);
  },
);

test("nobody is asked about a licence where a tarball differs: no consent would let that pass", async () => {
  await writeLockfile(2, { "node_modules/gpl": { version: "3.0.0", license: "GPL-3.0" } });
  await fillCache(2, () => "evil");
  expect(await run({ lockfile, output })).toMatchObject({ decision: "REFUSED", consent: null });
  expect(asked).toEqual([]);
});

test("without an npm cache nothing is verified, the verdict says so, and the release passes", async () => {
  await writeLockfile(2);
  const verdict = await run({ lockfile, output });
  expect(verdict).toMatchObject({ decision: "PASSED", integrity: { verified: 0, not_in_cache: 2 } });
  expect(verdict.reasons).toContain(`There is no npm cache at ${join(folder, "_cacache")}.`);
});

describe("a run is refused for good", () => {
  const refused = async (
    input: Record<string, string>,
    message: RegExp,
    before?: (step: string) => unknown,
  ) => {
    const failed = run(input, new Map(), before);
    await expect(failed).rejects.toThrow(message);
    await expect(failed).rejects.toBeInstanceOf(NonRetryableError);
  };

  test("where no bucket is named: people are not asked for what could not be published", async () => {
    vi.stubEnv("RELEASES_BUCKET", "");
    await writeLockfile(1);
    await refused({ lockfile, output }, /RELEASES_BUCKET must name/);
  });

  test("where the lockfile is missing", () => refused({ lockfile, output }, /there is no such file/));

  test("where the lockfile changes half-way: the rest would be a verdict about another file", async () => {
    await writeLockfile(60);
    await refused({ lockfile, output }, /changed while the run was reading it/, async (step) => {
      if (step.startsWith("verify packages 51")) await writeLockfile(61);
    });
  });

  test("where the policy changes between judgement and bom", async () => {
    await writeLockfile(1);
    const policy = join(folder, "policy.json");
    await writeFile(policy, '{"name":"n","allowed":["MIT"]}');
    await refused({ lockfile, output, policy }, /policy file .* changed/, async (step) => {
      if (step !== "write bom") return;
      await writeFile(`${policy}.new`, '{"name":"m","allowed":["MIT"]}');
      await rename(`${policy}.new`, policy);
    });
  });

  test("where the bom is not valid: none is written", async () => {
    await writeLockfile(1);
    const validator = vi.spyOn(Validation.JsonStrictValidator.prototype, "validate");
    validator.mockResolvedValueOnce([{ message: "it is cursed" }]);
    await refused({ lockfile, output }, /not valid CycloneDX 1\.6: .*it is cursed/);
    validator.mockRestore();
    await expect(files()).rejects.toThrow("ENOENT");
  });

  test("where the output folder is a file", async () => {
    await writeLockfile(1);
    await refused({ lockfile, output: lockfile }, /cannot be written/);
  });
});

test("no step result nears the journal's limit of 1 MiB, for 3,000 packages that are all in question", async () => {
  const name = (index: number) => `node_modules/@${"s".repeat(100)}/${"p".repeat(100)}${index}`;
  const entries = Array.from({ length: 3_000 }, (_, index): [string, unknown] => [
    name(index),
    { version: "1.0.0", license: "x".repeat(1_000) },
  ]);
  await writeFile(lockfile, lockfileText(Object.fromEntries(entries)));
  const journal: Journal = new Map();
  const verdict = await run({ lockfile, output, questions: "policy" }, journal);
  expect(verdict.questions.length + verdict.questionsOmitted).toBe(3_000);
  expect(
    Math.max(...[...journal.values(), JSON.stringify(verdict)].map((text) => Buffer.byteLength(text))),
  ).toBeLessThan(900_000);
});

test("by default the output goes to output/<run id> below the current folder, and this repository is judged", async () => {
  const cwd = vi.spyOn(process, "cwd").mockReturnValue(folder);
  const verdict = await run({}).finally(() => cwd.mockRestore());
  expect(verdict.bom.path).toBe(join(folder, "output", "run-1", "bom.json"));
  expect(verdict).toMatchObject({ decision: "PASSED", questions: [] });
});

test("an input with a key that is spelled wrong is refused, not run on this repository's lockfile", () => {
  expect(releaseGate.input.safeParse({ lockFile: "x" }).success).toBe(false);
  expect(releaseGate.input.safeParse({}).success).toBe(true);
});
