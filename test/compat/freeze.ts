import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";

/**
 * `npm run freeze -- <number> [commit]`: keeps the engine of a commit (HEAD by default) as one file, so that the tests can
 * run it beside a newer one. Whoever adds migration N freezes engine N-1 before it: the number of an engine is that of the
 * newest migration it knows.
 */

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Our own packages come from the frozen commit; all others stay imports. */
function ownPackages(folder: string): Plugin {
  return {
    name: "own-packages",
    setup: (bundle) => {
      bundle.onResolve({ filter: /^@ghouls\// }, ({ path }) => ({
        path: join(folder, "packages", path.slice("@ghouls/".length), "src/index.ts"),
      }));
    },
  };
}

async function freeze(number: number, commit: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "ghouls-freeze-"));
  try {
    const archive = execFileSync("git", ["archive", commit, "packages"], {
      cwd: root,
      maxBuffer: 2 ** 28,
    });
    execFileSync("tar", ["-x", "-C", folder], { input: archive });
    const outfile = join(root, `test/compat/engines/engine-${number}.mjs`);
    await build({
      stdin: {
        contents: ["core", "ledger", "engine"]
          .map((name) => `export * as ${name} from "@ghouls/${name}";`)
          .join("\n"),
        resolveDir: folder,
      },
      plugins: [ownPackages(folder)],
      outfile,
      bundle: true,
      packages: "external",
      platform: "node",
      format: "esm",
      target: "node24",
      minify: true,
      // Errors are told from each other by name.
      keepNames: true,
      legalComments: "none",
      banner: { js: `/* engine ${number}, frozen by test/compat/freeze.ts */` },
    });
    return outfile;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const [number, commit = "HEAD"] = process.argv.slice(2);
if (number === undefined || !/^[1-9]\d*$/.test(number)) {
  process.stderr.write("usage: npm run freeze -- <number of the newest migration it knows> [commit]\n");
  process.exitCode = 1;
} else {
  process.stdout.write(`${await freeze(Number(number), commit)}\n`);
}
