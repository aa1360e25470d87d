import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, test } from "vitest";
import { command } from "../support/command.ts";
import { testDatabase } from "../support/database.ts";
import { makeRun } from "../support/factories.ts";

/** `ghouls doctor --strict` and `--acknowledge` straight in a database, where no API runs. */

const root = fileURLToPath(new URL("../..", import.meta.url));
const db = await testDatabase();
const { cwd, ghouls } = command();
const env = { DATABASE_URL: db.applicationUrl };
await writeFile(
  join(cwd, "ghouls.config.ts"),
  `import { defineConfig, workflow } from ${JSON.stringify(join(root, "packages/ghouls/src/index.ts"))};
import * as z from ${JSON.stringify(join(root, "node_modules/zod/index.js"))};
const hello = workflow({ name: "hello", version: 1, onWorkerLoss: "resume", accepts: ["${"a".repeat(64)}"], input: z.string(), run: (ctx) => ctx.step("greet", () => "hi") });
export default defineConfig({ workflows: [hello] });`,
);

beforeEach(async () => {
  await db.admin("truncate ghouls.runs, ghouls.integrity_faults cascade");
});

interface Judged {
  readonly ok: boolean;
  readonly refused: { readonly first: readonly { readonly faultId: string; readonly subject: string }[] };
}
const strict = async (...argv: string[]) => {
  const { code, out } = await ghouls(["doctor", "--strict", "--json", ...argv], env);
  return { code, judged: JSON.parse(out) as Judged };
};

describe("doctor --strict", () => {
  test("refuses open runs that a configuration neither has nor accepts, and judges none without one", async () => {
    await makeRun(db, { digest: "a".repeat(64) });
    await makeRun(db, { digest: "old" });
    expect((await strict()).code).toBe(0);
    const { code, judged } = await strict("--config", "ghouls.config.ts");
    expect(code).toBe(1);
    expect(judged.refused.first.map(({ subject }) => subject)).toEqual(["hello@1 old"]);
  });

  test("says in words what is wrong with the configuration", async () => {
    const { code, err } = await ghouls(["doctor", "--strict", "--config", "none.ts"], env);
    expect(code).toBe(1);
    expect(err).toContain("none.ts");
  });
});

test("doctor --acknowledge lets a fault stand, once, with a word from the command line", async () => {
  const run = await makeRun(db);
  await db.admin("update ghouls.runs set journal_length = 2 where run_id = $1", [run.runId]);
  const { code, judged } = await strict();
  expect(code).toBe(1);
  const faultId = judged.refused.first[0]?.faultId ?? "";
  const word = ["doctor", "--acknowledge", faultId, "--reason", "known", "--actor", "ada"];
  expect(await ghouls(word, env)).toMatchObject({ code: 0, err: "" });
  expect((await ghouls(word, env)).out).toMatch(
    /^acknowledged before, \S+ by ada \(command line\): known\n$/,
  );
  expect(await db.admin("select actor, act, reason from ghouls.audit")).toEqual([
    { actor: "ada (command line)", act: "acknowledge", reason: "known" },
  ]);
  expect((await strict()).code).toBe(0);
  // What the doctor says of the ledger itself is not changed by a word.
  expect((await ghouls(["doctor"], env)).code).toBe(1);
});
