import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { folder, ghouls } from "../fakes.support.ts";
import { join } from "node:path";
import { writeFile } from "node:fs/promises";

/** What bash would offer behind these words. */
async function offered(...words: readonly string[]): Promise<string[]> {
  const { out } = await ghouls(["completion", "bash"]);
  const file = join(await folder(), "completion.bash");
  const asking = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _ghouls; echo "\${COMPREPLY[@]}"`;
  await writeFile(file, `${out}${asking}\n`);
  return execFileSync("bash", [file], { encoding: "utf8" }).trim().split(" ");
}

it("completes commands, their own commands, their choices and options, in bash itself", async () => {
  expect(await offered("ghouls", "dec")).toEqual(["decide"]);
  expect(await offered("ghouls", "decide", "x", "--d")).toEqual(["--data-dir", "--digest"]);
  expect(await offered("ghouls", "decide", "x", "g")).toEqual(["grant"]);
  expect(await offered("ghouls", "keys", "re")).toEqual(["revoke"]);
  expect(await offered("ghouls", "runs", "--la")).toEqual(["--label"]);
});

it.each(["bash", "zsh", "fish"])("knows every command in %s", async (shell) => {
  const { out } = await ghouls(["completion", shell]);
  const help = (await ghouls(["--help"])).out;
  const commands = [...help.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name);
  expect(commands.length).toBeGreaterThan(20);
  for (const name of commands) if (name !== "help") expect(out).toMatch(new RegExp(`\\b${name}\\b`));
});

it("refuses another shell", async () => {
  expect((await ghouls(["completion", "csh"])).code).toBe(2);
});
