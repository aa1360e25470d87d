import { join, resolve } from "node:path";
import { NonRetryableError, workflow, type WorkflowContext } from "ghouls";
import * as z from "zod";
import type { BomIdentity } from "./bom.ts";
import { bomFault, buildBom } from "./bom.ts";
import { findNpmCache, verifyPackages } from "./integrity.ts";
import { judgePackages } from "./licences.ts";
import type { Lockfile } from "./lockfile.ts";
import { nearestLockfile, readLockfile } from "./lockfile.ts";
import { readPolicy, SHIPPED_POLICY } from "./policy.ts";
import { publish, published } from "./publish.ts";
import { releasesBucket } from "./s3.ts";
import { signer } from "../signer.ts";
import { judgeSignature } from "./signature.ts";
import { decide, decidedBy, MAX_LISTED, Report, summarise, unsigned } from "./verdict.ts";
import type { Verdict } from "./verdict.ts";
import { writeAtomically } from "./write.ts";

/** Packages that one step verifies. */
const BATCH = 50;

const Input = z.strictObject({
  /** Path of npm's lockfile; the one nearest to this file by default. Relative to the worker's current folder. */
  lockfile: z.string().min(1).optional(),
  /** Path of a policy file; the shipped one by default. */
  policy: z.string().min(1).optional(),
  /** Who answers for questionable licences: "people" are asked, "policy" lets the policy file decide alone. */
  questions: z.enum(["people", "policy"]).default("people"),
  /** Who may consent to questionable licences. */
  deciders: z
    .array(z.string().regex(/^(role|user):.+$/, 'such as "role:legal" or "user:ada"'))
    .min(1)
    .default(["role:decider"]),
  /** Folder for bom.json and verdict.json; `output/<run id>` by default. */
  output: z.string().min(1).optional(),
});

/**
 * Decides whether a project may be released: what it ships, whether that is what npm fetched, under which licences. What may be
 * is signed by a service and published, and nothing else is.
 */
export const releaseGate = workflow({
  name: "release-gate",
  version: 1,
  onWorkerLoss: "resume", // every step but "publish" only reads, or writes the same bytes again
  queue: "rites",
  deadline: "7d",
  input: Input,
  output: Report,
  async run(ctx, input) {
    const lock = await ctx.step("read lockfile", () => inspect(input, ctx.runId));
    const judged = await ctx.step("judge licences", () => judge(lock));

    const batches = [];
    for (let from = 0; from < lock.toVerify; from += BATCH) {
      const to = Math.min(from + BATCH, lock.toVerify);
      const name = `verify packages ${from + 1} to ${to} of ${lock.toVerify}`;
      batches.push(
        await ctx.step(name, ({ signal }) => verify(lock, from, to, signal), { tries: 3, timeout: "120s" }),
      );
    }

    const identity = { serialNumber: ctx.uuid(), timestamp: ctx.now() };
    const bom = await ctx.step("write bom", () => writeBom(lock, judged.policy, identity));
    const { requireIntegrity, ...found } = judged;
    const evidence = {
      lockfile: { path: lock.path, sha256: lock.sha256 },
      components: lock.components,
      ...found,
      batches,
      requireIntegrity,
      bom,
    };
    const alone = decide({ ...evidence, consent: null });
    const { verdict } =
      alone.hangsOnLicences && input.questions === "people"
        ? decide({ ...evidence, consent: await askPeople(ctx, alone.verdict, input.deciders) })
        : alone;
    const file = await ctx.step("write verdict", () => writeVerdict(lock, verdict));
    if (verdict.decision === "REFUSED") return { ...verdict, signature: null, published: null };

    const request = {
      bom: { sha256: bom.sha256 },
      verdict: { sha256: file.sha256, release: true },
      decidedBy: [...decidedBy(verdict)],
      runId: ctx.runId,
    };
    const answer = judgeSignature(request, await ctx.delegate("sign", signer, request, { deadline: "1h" }));
    if ("why" in answer) {
      const refused = unsigned(verdict, answer.why);
      await ctx.step("write refusal", () => writeVerdict(lock, refused));
      return { ...refused, signature: null, published: null };
    }
    const release = { bucket: lock.bucket, runId: ctx.runId, bom, verdict: file, signed: answer.signed };
    const place = await ctx.step("publish", (step) => publish(release, step), {
      effect: "once",
      tries: 3,
      probe: (step) => published(release, step),
    });
    return { ...verdict, signature: answer.signature, published: place };
  },
});

function writeVerdict(lock: Inspected, verdict: Verdict) {
  return writeAtomically(lock.output, "verdict.json", `${JSON.stringify(verdict, null, 2)}\n`);
}

/** Parks the run until somebody has answered; what they are shown is frozen with the request. */
async function askPeople(ctx: WorkflowContext, verdict: Verdict, deciders: readonly string[]) {
  const { lockfile, policy, questions, questionsOmitted, bom } = verdict;
  const { outcome, decisions } = await ctx.consent("release with these licences", {
    deciders,
    expires: "3d",
    detail: { lockfile, policy, questions, questionsOmitted, bom },
  });
  return { outcome, decisions: [...decisions] };
}

/** What the steps need to know of the lockfile; each reads the file itself, as a whole one may be too large to journal. */
interface Inspected {
  readonly path: string;
  readonly sha256: string;
  readonly policy: string;
  readonly output: string;
  /** Where releases go; asked for at once, as a run may wait for days before it publishes. */
  readonly bucket: string;
  readonly components: number;
  readonly toVerify: number;
}

async function inspect(input: z.infer<typeof Input>, runId: string): Promise<Inspected> {
  const bucket = releasesBucket(process.env);
  const path = resolve(input.lockfile ?? nearestLockfile(import.meta.url));
  const lockfile = await readLockfile(path);
  return {
    path,
    sha256: lockfile.sha256,
    policy: resolve(input.policy ?? SHIPPED_POLICY),
    output: resolve(input.output ?? join("output", runId)),
    bucket,
    components: lockfile.packages.length,
    toVerify: fromOutside(lockfile).length,
  };
}

/** The lockfile that the run began with, or a refusal: half of a verdict about one file and half about another is none. */
async function reread(lock: Inspected): Promise<Lockfile> {
  const lockfile = await readLockfile(lock.path);
  if (lockfile.sha256 === lock.sha256) return lockfile;
  throw new NonRetryableError(
    `The lockfile ${lock.path} changed while the run was reading it. Submit a new run.`,
  );
}

function fromOutside(lockfile: Lockfile): Lockfile["packages"] {
  return lockfile.packages.filter(({ kind }) => kind !== "workspace");
}

async function judge(lock: Inspected) {
  const { policy, path, sha256: digest } = await readPolicy(lock.policy);
  const questions = judgePackages((await reread(lock)).packages, policy);
  return {
    policy: { name: policy.name, path, sha256: digest },
    requireIntegrity: policy.requireIntegrity,
    questions: questions.slice(0, MAX_LISTED),
    questionsOmitted: Math.max(0, questions.length - MAX_LISTED),
  };
}

/** Looks for the cache in each step, as the next step may run on another machine. */
async function verify(lock: Inspected, from: number, to: number, signal: AbortSignal) {
  const cache = findNpmCache(process.env);
  const packages = fromOutside(await reread(lock)).slice(from, to);
  return summarise(await verifyPackages(packages, cache, signal), cache.exists ? null : cache.folder);
}

async function writeBom(lock: Inspected, judgedBy: { sha256: string }, identity: BomIdentity) {
  const { policy, sha256: digest } = await readPolicy(lock.policy);
  if (digest !== judgedBy.sha256) {
    throw new NonRetryableError(
      `The policy file ${lock.policy} changed while the run was reading it. Submit a new run.`,
    );
  }
  const text = buildBom(await reread(lock), policy, identity);
  const fault = await bomFault(text);
  if (fault !== undefined) throw new NonRetryableError(`The bom is not valid CycloneDX 1.6: ${fault}`);
  return writeAtomically(lock.output, "bom.json", text);
}
