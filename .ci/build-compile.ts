import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { importsOf } from "./build-imports.ts";

/** Sources that are not published. */
const NOT_PUBLISHED = ["**/*.test.ts", "**/*.support.ts"];

/**
 * Compiles the sources of all packages at once, each to `<out>/<package>/src`.
 * @param tools the folder whose node_modules holds the compiler
 * @throws Error with the compiler's words where it refuses
 */
export function compile(root: string, folders: readonly string[], out: string, tools = root): void {
  const config = join(out, "tsconfig.json");
  mkdirSync(out, { recursive: true });
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(root, "tsconfig.json"),
      compilerOptions: {
        noEmit: false,
        declaration: true,
        rewriteRelativeImportExtensions: true,
        noEmitOnError: true,
        rootDir: join(root, "packages"),
        outDir: out,
        typeRoots: [join(tools, "node_modules/@types")],
      },
      include: folders.map((folder) => join(root, "packages", folder, "src/**/*.ts")),
      exclude: NOT_PUBLISHED.map((pattern) => join(root, "packages", pattern)),
    }),
  );
  runCompiler(root, config, tools);
}

/**
 * Compiles the sources of a package without looking at types: what they rest on is not installed here.
 * @param declarations the only ones that are kept: those that a user's compiler reads, which name no such type
 * @throws Error with the compiler's words where it refuses
 */
export function compileUnchecked(
  root: string,
  path: string,
  out: string,
  declarations: readonly string[],
): void {
  mkdirSync(out, { recursive: true });
  const config = join(out, "tsconfig.json");
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(root, "tsconfig.json"),
      compilerOptions: {
        noCheck: true,
        noEmit: false,
        declaration: true,
        rewriteRelativeImportExtensions: true,
        rootDir: path,
        outDir: out,
        types: [],
      },
      include: [join(path, "src")],
    }),
  );
  runCompiler(root, config, root);
  for (const file of readdirSync(join(out, "src"))) {
    if (file.endsWith(".d.ts") && !declarations.includes(file)) rmSync(join(out, "src", file));
  }
}

function runCompiler(root: string, config: string, tools: string): void {
  const tsc = join(tools, "node_modules/typescript/bin/tsc");
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [tsc, "--project", config], {
    cwd: root,
    encoding: "utf8",
  });
  if (status !== 0) {
    throw new Error(`tsc refused, so nothing was built:\n${error?.message ?? `${stdout}${stderr}`}`);
  }
}

/** A declaration's relative imports with the built file's extension; the compiler rewrites only those of the code. */
export function rewriteDeclaration(file: string, text: string): string {
  return importsOf(file, text)
    .filter(({ specifier }) => specifier.startsWith("."))
    .toSorted((a, b) => b.start - a.start)
    .reduce((rewritten, { specifier, start, end }) => {
      const built = specifier.replace(/(?<!\.d)\.(m|c)?ts$/, ".$1js");
      return `${rewritten.slice(0, start)}"${built}"${rewritten.slice(end)}`;
    }, text);
}

/** Relative imports of a built file that lead to no built file inside the package's folder. */
export function danglingImports(file: string, folder: string): string[] {
  return importsOf(file, readFileSync(file, "utf8"))
    .map(({ specifier }) => specifier)
    .filter((specifier) => {
      if (!specifier.startsWith(".")) return false;
      const target = resolve(dirname(file), specifier);
      if (!target.startsWith(`${folder}/`) || !specifier.endsWith(".js")) return true;
      return !existsSync(file.endsWith(".d.ts") ? target.replace(/\.js$/, ".d.ts") : target);
    })
    .map((specifier) => `${file} imports ${specifier}`);
}
