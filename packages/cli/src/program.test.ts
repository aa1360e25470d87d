import { describe, expect, it } from "vitest";
import { folder, ghouls } from "./fakes.support.ts";

describe("ghouls", () => {
  it.each([
    [["--help"], 0],
    [["submit", "--help"], 0],
    [[], 2],
    [["hack"], 2],
    [["show"], 2],
    [["show", "a", "b"], 2],
    [["runs", "--limit", "0"], 2],
    [["runs", "--limit", "1e2"], 2],
    [["runs", "--status", "done,ghost"], 2],
    [["submit", "hello", "--priority", "10"], 2],
    [["dev", "--port", "65536"], 2],
    [["watch", "--follow"], 2],
    [["keys"], 2],
    [["keys", "revoke", "k"], 2],
    [["grants"], 2],
    [["grants", "revoke", "g"], 2],
  ])("%j ends with %d and never ends the process itself", async (argv, code) => {
    const outcome = await ghouls(argv);
    expect(outcome.code).toBe(code);
    expect(code === 0 ? outcome.out : outcome.err).not.toBe("");
  });

  it("has its commands, each with --json, and tells its exit codes", async () => {
    const { out } = await ghouls(["--help"]);
    expect(out).toContain("Exit codes: 0 done, 1 failed or refused, 2 called wrongly.");
    for (const name of ["init", "dev", "migrate", "submit", "runs", "show", "watch", "doctor"]) {
      expect(out).toContain(`  ${name}`);
      expect((await ghouls([name, "--help"])).out).toContain("--json");
    }
    for (const name of ["create", "list", "revoke"]) {
      expect((await ghouls(["keys", name, "--help"])).out).toContain("--json");
    }
  });

  it.each(["submit hello", "runs", "show x", "watch x"])(
    "%s without an API says what to start or to set",
    async (line) => {
      const cwd = await folder();
      const plain = await ghouls(line.split(" "), { cwd });
      expect(plain).toMatchObject({ code: 1, out: "" });
      expect(plain.err).toContain(".ghouls has no dev.json");
      expect(plain.err).toMatch(/Fix: .*`ghouls dev`.*GHOULS_API_URL/);
      const json = await ghouls([...line.split(" "), "--json"], { cwd });
      expect(JSON.parse(json.err)).toMatchObject({
        error: { code: "failed", fix: expect.stringContaining("GHOULS_API_URL") },
      });
    },
  );
});
