import { createHash } from "node:crypto";
import { chmod, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import cacache from "cacache";
import { beforeEach, describe, expect, test } from "vitest";
import { lockedPackage, temporaryFolder } from "./fixtures.ts";
import type { NpmCache } from "./integrity.ts";
import { findNpmCache, strongest, verifyPackage, verifyPackages } from "./integrity.ts";

const REGISTRY = "https://registry.example.org/";
const KEY = `make-fetch-happen:request-cache:${REGISTRY}spirit/-/spirit-1.0.0.tgz`;
const sri = (data: string, algorithm = "sha512") =>
  `${algorithm}-${createHash(algorithm).update(data).digest("base64")}`;

let cache: NpmCache;
beforeEach(async () => {
  cache = { folder: await temporaryFolder(), exists: true, registry: REGISTRY };
});

/** The one content file of the cache. */
async function contentFile(): Promise<string> {
  const files = await readdir(join(cache.folder, "content-v2"), { recursive: true, withFileTypes: true });
  const file = files.find((entry) => entry.isFile());
  if (file === undefined) throw new Error("the cache is empty");
  return join(file.parentPath, file.name);
}

describe("verifyPackage", () => {
  const locked = lockedPackage({ integrity: sri("tarball") });

  test("is verified by the content that npm fetched", async () => {
    await cacache.put(cache.folder, KEY, "tarball");
    expect(await verifyPackage(locked, cache)).toEqual({
      package: "spirit@1.0.0",
      outcome: "verified",
      why: "",
      isGap: false,
    });
  });

  test("is verified by content alone where the cache knows no such URL", async () => {
    await cacache.put(cache.folder, "some other key", "tarball");
    expect((await verifyPackage(locked, cache)).outcome).toBe("verified");
  });

  test("is verified by content where what came from its URL was swept away", async () => {
    await cacache.put(cache.folder, KEY, "swept");
    await rm(await contentFile());
    await cacache.put(cache.folder, "some other key", "tarball");
    expect((await verifyPackage(locked, cache)).outcome).toBe("verified");
  });

  test("a damaged tarball of the same size is a mismatch: the content is really read", async () => {
    await cacache.put(cache.folder, KEY, "tarball");
    const path = await contentFile();
    await chmod(path, 0o644);
    await writeFile(path, "tarbull");
    expect(await verifyPackage(locked, cache)).toMatchObject({
      outcome: "mismatch",
      why: expect.stringMatching(/damaged/),
    });
  });

  test("a lockfile whose integrity was changed is a mismatch, though the cache itself is sound", async () => {
    await cacache.put(cache.folder, KEY, "what the registry sent");
    expect(await verifyPackage(locked, cache)).toMatchObject({
      outcome: "mismatch",
      why: expect.stringContaining(sri("what the registry sent")),
    });
  });

  test("an integrity that belongs to another cached package is a mismatch, not verified by that package", async () => {
    await cacache.put(cache.folder, KEY, "what the registry sent");
    await cacache.put(cache.folder, "another package", "tarball");
    expect((await verifyPackage(locked, cache)).outcome).toBe("mismatch");
  });

  test("an old sha1 is checked against content that is stored under sha512", async () => {
    await cacache.put(cache.folder, KEY, "tarball", { algorithms: ["sha512"] });
    expect((await verifyPackage(lockedPackage({ integrity: sri("tarball", "sha1") }), cache)).outcome).toBe(
      "verified",
    );
    expect((await verifyPackage(lockedPackage({ integrity: sri("other", "sha1") }), cache)).outcome).toBe(
      "mismatch",
    );
  });

  test("scoped packages and a resolved URL are found under the URL that npm used", async () => {
    await cacache.put(cache.folder, KEY.replace("spirit/-/", "@s/spirit/-/"), "scoped");
    const scoped = lockedPackage({ name: "@s/spirit", integrity: sri("x") });
    expect((await verifyPackage(scoped, cache)).outcome).toBe("mismatch");
    const elsewhere = lockedPackage({ resolved: "https://other.example.org/s.tgz", integrity: sri("x") });
    expect((await verifyPackage(elsewhere, cache)).outcome).toBe("not_in_cache");
    await cacache.put(cache.folder, "make-fetch-happen:request-cache:https://other.example.org/s.tgz", "x");
    expect((await verifyPackage(elsewhere, cache)).outcome).toBe("verified");
  });

  test("what is not there is not_in_cache: an empty cache, content that was swept, no cache at all", async () => {
    expect((await verifyPackage(locked, cache)).outcome).toBe("not_in_cache");
    await cacache.put(cache.folder, KEY, "tarball");
    await rm(join(cache.folder, "content-v2"), { recursive: true });
    expect((await verifyPackage(locked, cache)).outcome).toBe("not_in_cache");
    expect((await verifyPackage(locked, { ...cache, exists: false })).why).toBe("there is no npm cache here");
  });

  test("a tarball from a file is looked up by its content only", async () => {
    await cacache.put(cache.folder, KEY, "other");
    const file = lockedPackage({ kind: "file", resolved: "file:a.tgz", integrity: sri("tarball") });
    expect((await verifyPackage(file, cache)).outcome).toBe("not_in_cache");
  });

  test.each([
    [{ integrity: undefined }, true],
    [{ integrity: "sha512-short" }, true],
    [{ integrity: "md5-1B2M2Y8AsgTpgAmY7PhCfg==" }, true],
    [{ integrity: undefined, bundled: true }, false],
    [{ integrity: undefined, kind: "git" as const }, false],
  ])("%j has no integrity to check; is that a gap in the lockfile: %s", async (changes, isGap) => {
    expect(await verifyPackage(lockedPackage(changes), cache)).toMatchObject({
      outcome: "no_integrity",
      isGap,
    });
  });

  test("a cache that exists but cannot be read is an error, never a verdict", async () => {
    await cacache.put(cache.folder, "key", "tarball");
    const path = await contentFile();
    await rm(path);
    await mkdir(path); // reading a folder fails as a broken disk does
    await expect(verifyPackage(locked, cache)).rejects.toThrow();
  });
});

describe("verifyPackages", () => {
  test("gives one finding a package, in order, though several are read at once", async () => {
    const names = Array.from({ length: 40 }, (_, index) => `p${index}`);
    await Promise.all(names.slice(0, 20).map((name) => cacache.put(cache.folder, name, name)));
    const findings = await verifyPackages(
      names.map((name) => lockedPackage({ name, integrity: sri(name) })),
      cache,
    );
    expect(findings.map((finding) => finding.package)).toEqual(names.map((name) => `${name}@1.0.0`));
    expect(findings.filter(({ outcome }) => outcome === "verified")).toHaveLength(20);
  });

  test("one failure ends all reading, so that the step's next try has the cache to itself", async () => {
    await cacache.put(cache.folder, "key", "tarball");
    const path = await contentFile();
    await rm(path);
    await mkdir(path);
    let asked = 0;
    const counting = lockedPackage({ integrity: sri("absent") });
    Object.defineProperty(counting, "integrity", { get: () => ((asked += 1), sri("absent")) });
    const rest = Array.from({ length: 2_000 }, () => counting);
    await expect(
      verifyPackages([lockedPackage({ integrity: sri("tarball") }), ...rest], cache),
    ).rejects.toThrow();
    const atTheEnd = asked;
    expect(atTheEnd).toBeLessThan(2_000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked).toBe(atTheEnd);
  });

  test("stops once its signal has fired, so that a fenced worker does not read on", async () => {
    const stop = AbortSignal.abort(new Error("taken away"));
    await expect(verifyPackages([lockedPackage()], cache, stop)).rejects.toThrow("taken away");
  });
});

describe("strongest", () => {
  test("chooses as npm does: sha512 before sha1, all hashes of that algorithm, options cut off", () => {
    const [a, b] = [sri("a"), sri("b")];
    expect(strongest(`${sri("a", "sha1")} ${a}?opt ${b}`)).toEqual({
      algorithm: "sha512",
      digests: [a.slice(7), b.slice(7)],
    });
  });

  test.each([undefined, "", "rubbish", "sha512-", "sha512-AAAA", "sha3-AAAA"])(
    "is undefined for %j",
    (text) => {
      expect(strongest(text)).toBeUndefined();
    },
  );
});

describe("findNpmCache", () => {
  test.each<[Record<string, string>, string, string]>([
    [{}, "linux", "/home/eve/.npm/_cacache"],
    [{ npm_config_cache: "/c" }, "linux", "/c/_cacache"],
    [{ NPM_CONFIG_CACHE: "/C" }, "linux", "/C/_cacache"],
    [{ npm_config_cache: "" }, "linux", "/home/eve/.npm/_cacache"],
    [{ LOCALAPPDATA: "/local" }, "win32", "/local/npm-cache/_cacache"],
  ])("%j on %s is %s", (env, platform, folder) => {
    expect(findNpmCache(env, "/home/eve", platform)).toMatchObject({ folder, exists: false });
  });

  test("the registry ends in a slash, whatever the configuration says", () => {
    expect(findNpmCache({ npm_config_registry: "https://r.example.org" }, "/").registry).toBe(
      "https://r.example.org/",
    );
    expect(findNpmCache({}, "/").registry).toBeUndefined();
  });
});

describe("the registry that nobody named", () => {
  test.each(["https://r.example.org/", "https://r.example.org/api/npm/"])(
    "is read off the cache's own index (%s), so that a changed integrity is still found out",
    async (registry) => {
      const unnamed = { ...cache, registry: undefined };
      await cacache.put(
        unnamed.folder,
        `make-fetch-happen:request-cache:${registry}@scope%2fspirit`,
        "metadata",
      );
      await cacache.put(
        unnamed.folder,
        `make-fetch-happen:request-cache:${registry}@scope/spirit/-/spirit-1.0.0.tgz`,
        "tarball",
      );
      const honest = lockedPackage({ name: "@scope/spirit", integrity: sri("tarball") });
      const changed = lockedPackage({ name: "@scope/spirit", integrity: sri("another") });
      expect((await verifyPackages([honest, changed], unnamed)).map((finding) => finding.outcome)).toEqual([
        "verified",
        "mismatch",
      ]);
    },
  );

  test("of an empty cache is none, and nothing is in it", async () => {
    const found = lockedPackage({ integrity: sri("tarball") });
    expect(await verifyPackages([found], { ...cache, registry: undefined })).toMatchObject([
      { outcome: "not_in_cache" },
    ]);
  });
});
