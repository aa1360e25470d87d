import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const bin = fileURLToPath(new URL("../../ghouls/bin/ghouls.mjs", import.meta.url));

function start(nodeOptions: readonly string[], argv: readonly string[]) {
  const child = spawn(process.execPath, [...nodeOptions, bin, ...argv], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  return new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
    child.on("close", (code) => resolve({ code, out, err }));
  });
}

const before = (code: string) => ["--import", `data:text/javascript,${encodeURIComponent(code)}`];

describe("the bin", () => {
  it("hands on the exit code of the command", async () => {
    const help = await start([], ["--help"]);
    expect(help).toMatchObject({ code: 0, err: "" });
    expect(help.out).toContain("Usage: ghouls");
    expect(await start([], ["hack"])).toMatchObject({ code: 2, out: "" });
  });

  it("tells an old Node what is needed, before it loads anything that this Node cannot read", async () => {
    const old = before(`Object.defineProperty(process, "versions", { value: { node: "20.20.2" } })`);
    const outcome = await start(old, ["--help"]);
    expect(outcome).toMatchObject({ code: 1, out: "" });
    expect(outcome.err).toContain(
      "Node.js 24 or newer is needed; this is 20.20.2.\n  Fix: install Node.js 24",
    );
  });

  it("says in one sentence that its parts cannot be loaded", async () => {
    const broken = before(`import { registerHooks } from "node:module";
      registerHooks({ resolve(name, context, next) { if (name === "@ghouls/cli") throw new Error("gone"); return next(name, context); } });`);
    const outcome = await start(broken, ["--help"]);
    expect(outcome).toMatchObject({ code: 1, out: "" });
    expect(outcome.err).toMatch(/^ghouls: gone\n {2}Fix: .*\n$/);
  });

  it("takes a reader that goes away for no failure", async () => {
    const gone = before(
      `process.stdout._write = (_chunk, _encoding, done) => done(Object.assign(new Error("EPIPE"), { code: "EPIPE" }));`,
    );
    expect(await start(gone, ["--help"])).toMatchObject({ code: 0, err: "" });
    const full = before(
      `process.stdout._write = (_chunk, _encoding, done) => done(Object.assign(new Error("ENOSPC"), { code: "ENOSPC" }));`,
    );
    expect((await start(full, ["--help"])).code).not.toBe(0);
  });
});
