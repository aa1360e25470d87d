import { describe, expect, it } from "vitest";
import { canonicalText, sha256, type DigestBasis } from "@ghouls/core";
import { differencesOf } from "@ghouls/functions";
import type { RecordedRelease } from "@ghouls/ledger";
import { NO_RELEASES, folder, ghouls } from "../fakes.support.ts";
import type { DeploymentTools, LedgerTools } from "../io.ts";

const BASIS: DigestBasis = {
  tag: "t",
  name: "gate",
  version: 1,
  input: {},
  output: null,
  modules: [["gate.ts", "a".repeat(64)]],
};
const CHANGED: DigestBasis = { ...BASIS, modules: [["gate.ts", "b".repeat(64)]] };
const digestOf = (basis: DigestBasis) => sha256(canonicalText(basis));
const recorded = (basis: DigestBasis): RecordedRelease => ({
  workflow: { name: basis.name, version: basis.version, digest: digestOf(basis) },
  bundle: "c".repeat(64),
  bytes: 1_234,
  onWorkerLoss: "resume",
  deadlineMs: null,
  basisText: canonicalText(basis),
  build: "b1",
  deployedAt: new Date("2026-11-30T00:00:00Z"),
  removedAt: null,
});

interface World {
  readonly releases?: Partial<ReturnType<LedgerTools["openLedger"]>["releases"]>;
  readonly tools?: Partial<DeploymentTools>;
  readonly env?: Readonly<Record<string, string>>;
}

async function run(argv: readonly string[], { releases = {}, tools = {}, env = {} }: World = {}) {
  const unused = () => {
    throw new Error("not expected");
  };
  const openLedger = (() => ({
    releases: { ...NO_RELEASES, ...releases },
    close: () => Promise.resolve(),
  })) as unknown as LedgerTools["openLedger"];
  const asked: unknown[] = [];
  const noted =
    <T>(answer: T) =>
    (...args: unknown[]) => {
      asked.push(args);
      return Promise.resolve(answer);
    };
  const cwd = await folder();
  const outcome = await ghouls(["workflows", ...argv], {
    cwd,
    env: { DATABASE_URL: "url", ...env },
    ledger: { migrate: unused, migrationSql: unused, openStores: unused, openLedger },
    loadDeployment: () =>
      Promise.resolve({
        basesOf: noted([CHANGED]),
        basesOfBuild: noted([BASIS]),
        differencesOf,
        publishBuild: noted({ build: "b1", releases: [recorded(BASIS)], added: 1 }),
        pruneReleases: noted({ removed: 2, deleted: 1, missing: [] }),
        ...tools,
      } as unknown as DeploymentTools),
  });
  return { ...outcome, asked, cwd };
}

describe("ghouls workflows diff", () => {
  it("says what has changed since the release that was deployed last", async () => {
    const newest = (name: string, version: number | null) =>
      Promise.resolve(name === "gate" && version === null ? recorded(BASIS) : null);
    const { code, out } = await run(["diff"], { releases: { newest } });
    expect(code).toBe(0);
    expect(out).toBe(
      `gate@1: ${digestOf(CHANGED)}, which was ${digestOf(BASIS)} (version 1)\n  changed  module gate.ts\n`,
    );
  });

  it("compares with a build, and asks no database then", async () => {
    const { out, asked, cwd } = await run(["diff", "gate", "--from", "built", "--json"]);
    expect(JSON.parse(out)).toEqual({
      workflows: [
        {
          name: "gate",
          version: 1,
          digest: digestOf(CHANGED),
          before: { version: 1, digest: digestOf(BASIS) },
          differences: [{ what: "module", how: "changed", where: "gate.ts" }],
        },
      ],
    });
    expect(asked).toEqual([[`${cwd}/ghouls.config.ts`], [`${cwd}/built`]]);
  });

  it("says what is new, and what is unchanged", async () => {
    const none = { newest: () => Promise.resolve(null) };
    expect((await run(["diff"], { releases: none })).out).toBe(`gate@1: new, ${digestOf(CHANGED)}\n`);
    const same = { newest: () => Promise.resolve(recorded(CHANGED)) };
    expect((await run(["diff"], { releases: same })).out).toBe(`gate@1: unchanged, ${digestOf(CHANGED)}\n`);
  });

  it("names the workflows that there are", async () => {
    expect(await run(["diff", "gat"])).toMatchObject({
      code: 1,
      err: expect.stringContaining("Fix: It has: gate."),
    });
  });
});

describe("ghouls workflows releases", () => {
  it("lists them with the open runs of each", async () => {
    const all = () => Promise.resolve([{ ...recorded(BASIS), runs: 3 }]);
    const { code, out } = await run(["releases"], { releases: { all } });
    expect(code).toBe(0);
    expect(out.split("\n")[1]).toMatch(
      new RegExp(`^gate {6}1 {8}${digestOf(BASIS)} {2}b1 {5}2026-11-30T00:00:00.000Z {2}2 kB  3$`),
    );
    expect(JSON.parse((await run(["releases", "--json"], { releases: { all } })).out)).toEqual({
      releases: [
        expect.objectContaining({ name: "gate", version: 1, digest: digestOf(BASIS), runs: 3, build: "b1" }),
      ],
    });
  });
});

describe("ghouls workflows publish and prune", () => {
  const store = ["--store", "s3://bucket/releases"];

  it("puts a build where it is told to", async () => {
    const { out, asked, cwd } = await run(["publish", "--from", "built", ...store], {
      env: { AWS_REGION: "r", AWS_ENDPOINT_URL: "http://127.0.0.1:1" },
    });
    expect(out).toBe("build b1: 1 releases, 1 new\n");
    expect(asked).toMatchObject([
      [`${cwd}/built`, { place: "s3://bucket/releases", region: "r", endpoint: "http://127.0.0.1:1" }],
    ]);
    expect(JSON.parse((await run(["publish", "--json", ...store])).out)).toMatchObject({ added: 1 });
  });

  it("takes a folder from where it is called, and the variable", async () => {
    const { asked, cwd } = await run(["prune", "--store", "kept"]);
    expect(asked).toMatchObject([[30 * 86_400_000, { place: `${cwd}/kept`, region: "us-east-1" }]]);
    const named = await run(["prune"], { env: { GHOULS_RELEASES: "s3://named" } });
    expect(named.asked).toMatchObject([[30 * 86_400_000, { place: "s3://named" }]]);
  });

  it("wants to know where", async () => {
    expect(await run(["prune"])).toMatchObject({ code: 2, err: expect.stringContaining("--store") });
  });

  it("says what it has removed, and fails where a deploy came in between", async () => {
    const pruned = await run(["prune", "--unused", "2h", ...store]);
    expect(pruned).toMatchObject({ code: 0, out: "2 releases removed, 1 bundles deleted\n" });
    expect(pruned.asked).toMatchObject([[7_200_000, {}]]);
    const tools = { pruneReleases: () => Promise.resolve({ removed: 0, deleted: 0, missing: ["abc"] }) };
    const between = await run(["prune", "--json", ...store], { tools });
    expect(between).toMatchObject({ code: 1, err: expect.stringContaining("abc") });
    expect(JSON.parse(between.out)).toEqual({ removed: 0, deleted: 0, missing: ["abc"] });
  });

  it.each(["59m", "soon", "0h"])("refuses to remove what was unused for %s", async (duration) => {
    expect((await run(["prune", "--unused", duration, ...store])).code).toBe(2);
  });
});
