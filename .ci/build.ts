import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { compile, compileUnchecked, danglingImports, rewriteDeclaration } from "./build-compile.ts";
import { manifestProblems, publishedManifest, type Manifest } from "./build-manifest.ts";

/**
 * `npm run build`: every public package as JavaScript with types, in `packages/<package>/dist`, ready for `npm publish`.
 * Inside the repository nothing uses it: there packages run from their sources.
 */

const root = fileURLToPath(new URL("..", import.meta.url));
/** Its types are SST's, which a deploy unpacks: it is checked by the tests of the infrastructure. */
const infra = join(root, "infra");

interface Package {
  /** Its folder's name. */
  readonly folder: string;
  readonly path: string;
  readonly manifest: Manifest;
}

function publicPackages(): Package[] {
  const paths = readdirSync(join(root, "packages")).map((folder) => join(root, "packages", folder));
  return [...paths, infra]
    .filter((path) => existsSync(join(path, "package.json")))
    .map((path) => ({ folder: basename(path), path, manifest: readManifest(join(path, "package.json")) }))
    .filter(({ manifest }) => manifest.private !== true);
}

function readManifest(file: string): Manifest {
  return JSON.parse(readFileSync(file, "utf8")) as Manifest;
}

/** Puts one package together. */
function assemble({ folder, path, manifest }: Package, compiled: string): void {
  const dist = join(path, "dist");
  const lib = join(dist, "lib");
  mkdirSync(dist);
  cpSync(join(compiled, folder, "src"), lib, { recursive: true });
  for (const file of globSync("**/*.d.ts", { cwd: lib })) {
    const declaration = join(lib, file);
    writeFileSync(declaration, rewriteDeclaration(file, readFileSync(declaration, "utf8")));
  }
  for (const file of Object.values(manifest.bin ?? {})) copyBin(join(path, file), join(dist, file));
  writeFileSync(join(dist, "package.json"), `${JSON.stringify(publishedManifest(manifest), null, 2)}\n`);
  writeFileSync(join(dist, "README.md"), readmeOf(path, manifest));
  copyFileSync(join(root, "LICENSE"), join(dist, "LICENSE"));
  for (const file of manifest.files ?? []) cpSync(join(path, file), join(dist, file), { recursive: true });
  verify(dist, lib, manifest);
}

function copyBin(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
  chmodSync(to, 0o755);
}

/** The repository's for `ghouls`, otherwise the package's own, otherwise a line that says what it is part of. */
function readmeOf(path: string, { name, description }: Manifest): string {
  const file = join(name === "ghouls" ? root : path, "README.md");
  if (existsSync(file)) return readFileSync(file, "utf8");
  return `# ${name}\n\n${description ?? name}. The readme of the package \`ghouls\` says how it is used.\n`;
}

/** @throws Error where a file is missing that the package promises, or one is there that it must not hold */
function verify(dist: string, lib: string, manifest: Manifest): void {
  const built = globSync("**/*", { cwd: lib });
  const problems = [
    ...built
      .filter((file) => /\.(test|support)\.|(?<!\.d)\.ts$/.test(file))
      .map((file) => `${file} is in it`),
    ...built
      .filter((file) => file.endsWith(".js") || file.endsWith(".d.ts"))
      .flatMap((file) => danglingImports(join(lib, file), lib)),
    ...promisedFiles(publishedManifest(manifest))
      .filter((file) => !existsSync(join(dist, file)))
      .map((file) => `${file} is missing`),
  ];
  if (problems.length > 0) throw new Error(`${manifest.name} cannot be published:\n${problems.join("\n")}`);
}

/** Every path that a value of JSON names. */
function promisedFiles(value: unknown): string[] {
  if (typeof value === "string") return value.startsWith("./") ? [value] : [];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(promisedFiles) : [];
}

function main(): void {
  // What the console's package publishes beside its code is built by a tool of its own.
  execFileSync(process.execPath, [join(root, ".ci/build-console.ts"), "--if-older"], { stdio: "inherit" });
  const packages = publicPackages();
  // First, so that a build that fails leaves nothing that could be published.
  for (const { path } of packages) rmSync(join(path, "dist"), { recursive: true, force: true });
  const { version } = readManifest(join(root, "package.json"));
  const problems = manifestProblems(
    packages.map(({ manifest }) => manifest),
    version,
  );
  if (problems.length > 0) throw new Error(`the packages do not agree:\n${problems.join("\n")}`);
  const compiled = mkdtempSync(join(tmpdir(), "ghouls-build-"));
  try {
    const checked = packages.filter(({ path }) => path !== infra);
    compile(
      root,
      checked.map(({ folder }) => folder),
      compiled,
    );
    compileUnchecked(root, infra, join(compiled, "infra"), ["index.d.ts", "options.d.ts"]);
    for (const one of packages) assemble(one, compiled);
  } finally {
    rmSync(compiled, { recursive: true, force: true });
  }
  process.stdout.write(`built ${packages.map(({ manifest }) => manifest.name).join(" ")}\n`);
}

try {
  main();
} catch (error) {
  process.stderr.write(`build: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
