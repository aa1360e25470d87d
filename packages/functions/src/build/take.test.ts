import { appendFile, cp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { buildFunctions, takeBuild, type Built } from "./functions.ts";
import { MARK } from "./place.ts";
import { CONFIG, HELLO, folder, project } from "./project.support.ts";

let from: string;
let built: Built;
beforeAll(async () => {
  const root = await project();
  from = join(root, "made");
  built = await buildFunctions({ config: join(root, "ghouls.config.ts"), out: from });
});

const take = (root: string, given = from) =>
  takeBuild({ config: join(root, "ghouls.config.ts"), out: join(root, "taken"), from: given });

/** A copy of the build, to be changed. */
async function copy(): Promise<string> {
  const made = join(await folder(), "made");
  await cp(from, made, { recursive: true });
  return made;
}

test("a build is taken in another checkout of the same code as it is, and stays where it was", async () => {
  const root = await project({
    "hello.ts": `// Comments do not count.\n${HELLO}`,
    // What a build of before has left there.
    [`taken/${MARK}`]: "",
    "taken/stale.mjs": "",
  });
  const before = await readdir(from, { recursive: true });
  const taken = await take(root);
  expect(taken).toEqual({
    ...built,
    functions: built.functions.map((one) => ({ ...one, folder: join(root, "taken", one.entry) })),
    releases: built.releases.map((one) => ({
      ...one,
      file: join(root, "taken/releases", `${one.bundle}.json`),
    })),
  });
  for (const { folder: at } of taken.functions) {
    await expect(import(pathToFileURL(join(at, "index.mjs")).href)).resolves.toHaveProperty("handler");
  }
  expect((await readdir(join(root, "taken"), { recursive: true })).toSorted()).toEqual(before.toSorted());
  // A copy of it is a build like it.
  expect(await take(root, join(root, "taken"))).toEqual(taken);
});

test.each<[what: string, change: (made: string) => Promise<void>, words: string]>([
  ["a folder that is not there", (made) => rm(made, { recursive: true }), "is no build of this version"],
  [
    "a folder that says nothing of what it is, as of an earlier version",
    (made) => writeFile(join(made, MARK), "Made by ghouls build.\n"),
    "is no build of this version",
  ],
  [
    "one of a later version",
    async (made) => {
      const mark = await readFile(join(made, MARK), "utf8");
      await writeFile(join(made, MARK), mark.replace('"format": 2', '"format": 3'));
    },
    "is no build of this version",
  ],
  [
    "a build that was changed since",
    (made) => appendFile(join(made, "worker/index.mjs"), "\n"),
    "is not what its build has left there",
  ],
  [
    "a build with a file more, such as SST writes beside the code",
    (made) => writeFile(join(made, "api/resource.enc"), ""),
    "is not what its build has left there",
  ],
  [
    "a build with a release that was changed since",
    async (made) => {
      const [name = ""] = await readdir(join(made, "releases"));
      await appendFile(join(made, "releases", name), " ");
    },
    "is not what its build has left there",
  ],
  [
    "a build of which a function is gone",
    (made) => rm(join(made, "migrate"), { recursive: true }),
    "is not what its build has left there",
  ],
])("%s is refused, and says what to do", async (_what, change, words) => {
  const made = await copy();
  await change(made);
  const root = await project();
  await expect(take(root, made)).rejects.toMatchObject({
    code: "configuration_invalid",
    message: `${made} ${words}`,
    fix: `Build it anew: npx ghouls build --out ${made}`,
  });
  expect(await readdir(root)).not.toContain("taken");
});

test.each<[what: string, files: Record<string, string>, words: string]>([
  [
    "a build of other queues",
    { "ghouls.config.ts": CONFIG.replace("workflows: [hello]", "workflows: [hello], queues: { night: {} }") },
    "is a build with the queues rites, runs; here they are night",
  ],
  [
    "a build of a workflow before it was changed",
    { "hello.ts": HELLO.replace("evening", "morning") },
    "is a build of other code than the configuration's",
  ],
  [
    "a build of the configuration before it was changed",
    {
      "ghouls.config.ts": CONFIG.replace(
        "workflows: [hello]",
        "workflows: [hello], auth: async () => undefined",
      ),
    },
    "is a build of other code than the configuration's",
  ],
])("%s is refused: it is not what would be built here", async (_what, files, words) => {
  await expect(take(await project(files))).rejects.toMatchObject({
    code: "configuration_invalid",
    message: `${from} ${words}`,
  });
});
