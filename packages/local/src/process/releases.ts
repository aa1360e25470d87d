import { readFile } from "node:fs/promises";
import { setPriority } from "node:os";
import { endWithHost, fail, leaveSignalsToHost, tell } from "ghouls/processes/channel";
import { serveModules, type ModuleTexts } from "./serve-modules.ts";

/**
 * Publishes the code that runs, for the runs that outlive it: `releases.ts <functions> <config> <code>`. What it has found and
 * made, the ledger knows when it is ready.
 */

interface Exports {
  publishCode(
    configPath: string,
    code: { readonly files: ModuleTexts; readonly manifest: Readonly<Record<string, string>> },
  ): Promise<number>;
}

/** Nobody waits for it. */
const LOW = 10;

async function main(): Promise<void> {
  const [module = "", configPath = "", codeFile = ""] = process.argv.slice(2);
  endWithHost();
  leaveSignalsToHost();
  setPriority(LOW);
  const code = JSON.parse(await readFile(codeFile, "utf8")) as Parameters<Exports["publishCode"]>[1];
  serveModules(code.files);
  const functions = (await import(module)) as Exports;
  tell({ type: "ready", added: await functions.publishCode(configPath, code) });
}

await main().catch(fail);
