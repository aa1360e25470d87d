import { describe, expect, it } from "vitest";
import { api, folder, ghouls } from "./fakes.support.ts";

const EMPTY = { "GET /v1/runs": { runs: [], nextCursor: null } };

describe("the address and the token", () => {
  it("come from dev.json: the submitter's to submit, the operator's to read", async () => {
    const { url, asked } = await api(EMPTY);
    const dev = JSON.stringify({ apiUrl: url, tokens: { operator: "op", submitter: "sub" }, processes: [] });
    const cwd = await folder({ ".ghouls/dev.json": dev });
    expect(await ghouls(["runs"], { cwd })).toMatchObject({ code: 0 });
    await ghouls(["submit", "hello"], { cwd });
    expect(asked.map(({ token }) => token)).toEqual(["Bearer op", "Bearer sub"]);
  });

  it("prefer --api over the environment over dev.json; an empty variable is none", async () => {
    const [first, second] = [await api(EMPTY), await api(EMPTY)];
    const cwd = await folder({
      "data/dev.json": JSON.stringify({ apiUrl: "http://127.0.0.1:9", tokens: { operator: "op" } }),
    });
    const data = ["--data-dir", "data"];
    await ghouls(["runs", ...data], { cwd, env: { GHOULS_API_URL: first.url, GHOULS_TOKEN: "" } });
    await ghouls(["runs", ...data, "--api", second.url], { cwd, env: { ...first.env } });
    expect(first.asked.map(({ token }) => token)).toEqual(["Bearer op"]);
    expect(second.asked.map(({ token }) => token)).toEqual(["Bearer env-token"]);
  });

  it("are told to be missing: a token that is not known", async () => {
    const outcome = await ghouls(["runs"], { env: { GHOULS_API_URL: "http://127.0.0.1:9" } });
    expect(outcome).toMatchObject({ code: 1 });
    expect(outcome.err).toContain("GHOULS_TOKEN");
  });

  it.each(["localhost:4700", "file:///etc/passwd", "nonsense"])(
    "are refused: %s is no address",
    async (address) => {
      expect(await ghouls(["runs", "--api", address])).toMatchObject({ code: 2 });
    },
  );

  it.each(["not json", "{}", '{"apiUrl":7}'])(
    "are not guessed from a dev.json that holds %s",
    async (text) => {
      const outcome = await ghouls(["runs"], { cwd: await folder({ ".ghouls/dev.json": text }) });
      expect(outcome.code).toBe(1);
      expect(outcome.err).toMatch(/dev\.json is not a file that `ghouls dev` wrote\n {2}Fix: Delete it/);
    },
  );

  it("are not taken from a dev.json that is a folder", async () => {
    expect(await ghouls(["runs"], { cwd: await folder({ ".ghouls/dev.json/x": "" }) })).toMatchObject({
      code: 1,
    });
  });
});
