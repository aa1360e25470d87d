import { describe, expect, it } from "vitest";
import { folder, ghouls } from "../fakes.support.ts";

const DEV = {
  apiUrl: "http://127.0.0.1:4700",
  consoleUrl: "http://127.0.0.1:4700",
  tokens: { operator: "op+1", decider: "de" },
};
const inFolder = async (dev: object, argv: readonly string[] = []) =>
  ghouls(["console", ...argv], { cwd: await folder({ ".ghouls/dev.json": JSON.stringify(dev) }) });

describe("console", () => {
  it("prints a link that signs an operator in, or whom one names", async () => {
    expect(await inFolder(DEV)).toEqual({
      code: 0,
      out: "http://127.0.0.1:4700/#token=op%2B1\n",
      err: "",
    });
    expect((await inFolder(DEV, ["--as", "decider"])).out).toBe("http://127.0.0.1:4700/#token=de\n");
    expect(JSON.parse((await inFolder(DEV, ["--json"])).out)).toEqual({
      url: "http://127.0.0.1:4700/#token=op%2B1",
    });
  });

  it.each([
    ["nothing runs", [], "Start `ghouls dev` in this folder"],
    ["it was not built", [{ ...DEV, consoleUrl: undefined }], "npm run build:console"],
    ["there is no such token", [{ ...DEV, tokens: {} }], "dev.json has no token of the operator"],
  ])("says what to do where %s", async (_, [dev], told) => {
    const outcome = dev === undefined ? await ghouls(["console"]) : await inFolder(dev);
    expect(outcome).toMatchObject({ code: 1, out: "" });
    expect(outcome.err).toContain(told);
  });

  it("takes only roles that dev.json may have", async () => {
    expect(await inFolder(DEV, ["--as", "admin"])).toMatchObject({ code: 2 });
  });
});
