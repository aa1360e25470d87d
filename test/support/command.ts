import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { run } from "@ghouls/cli";
import { processIo } from "../../packages/cli/src/io.ts";

/** The command, in a folder of its own and with only the variables that a call gives it: it answers what was printed. */
export function command() {
  const cwd = mkdtempSync(join(tmpdir(), "ghouls-command-"));
  afterAll(() => rmSync(cwd, { recursive: true, force: true }));
  const ghouls = async (argv: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    let [out, err] = ["", ""];
    const io = {
      ...processIo(),
      env,
      cwd,
      out: (text: string) => void (out += text),
      err: (text: string) => void (err += text),
    };
    return { code: await run(argv, io), out, err };
  };
  return { cwd, ghouls };
}
