import type { RunWorkerOptions } from "ghouls";
import { describe, expect, test } from "vitest";
import { folder, ghouls } from "../fakes.support.ts";
import type { Stores } from "../io.ts";

type Said = Parameters<Stores["deliveries"]["sayWorkerEnded"]>[0];

describe("ghouls worker", () => {
  async function start(argv: readonly string[], code = 0) {
    const cwd = await folder({ "ghouls.config.ts": "" });
    const asked: RunWorkerOptions[] = [];
    const runWorker = (options: RunWorkerOptions) => {
      asked.push(options);
      return Promise.resolve(code);
    };
    const outcome = await ghouls(["worker", ...argv], {
      cwd,
      loadWorker: () => Promise.resolve({ runWorker }),
    });
    return { ...outcome, asked, cwd };
  }

  test("serves what the configuration says, for as long as it takes, and ends with its code", async () => {
    const { code, asked, cwd } = await start([], 1);
    expect(code).toBe(1);
    expect(asked).toEqual([{ config: `${cwd}/ghouls.config.ts`, queues: [], json: false, env: {} }]);
  });

  test("takes what it is told", async () => {
    const argv = [
      "--queue",
      "long",
      "slow",
      "--concurrency",
      "3",
      "--grace",
      "90s",
      "--name",
      "t-7",
      "--json",
    ];
    const { asked, cwd } = await start([...argv, "--state-dir", "state"]);
    expect(asked).toMatchObject([
      {
        queues: ["long", "slow"],
        concurrency: 3,
        graceMs: 90_000,
        name: "t-7",
        stateDir: `${cwd}/state`,
        json: true,
      },
    ]);
  });

  test.each([
    [["--concurrency", "0"], "Give a whole number from 1 to 1000."],
    [["--grace", "0s"], "Give a whole number and a unit"],
    [["--grace", "25d"], 'Give "24d" at most'],
    [["--name", "a b"], "Give letters, digits and"],
    [["--name", "a/b"], "The slash stands before"],
  ])("refuses %j", async (argv, text) => {
    const { code, err, asked } = await start(argv);
    expect(code).toBe(2);
    expect(err).toContain(text);
    expect(asked).toEqual([]);
  });

  test("says that there is no such configuration", async () => {
    const { code, err } = await start(["--config", "other.ts"]);
    expect(code).toBe(1);
    expect(err).toMatch(/there is no .*other\.ts\n {2}Fix: Name your configuration with --config\./);
  });
});

describe("ghouls worker ended", () => {
  const say = async (argv: readonly string[], workers: readonly string[]) => {
    const said: Said[] = [];
    const unexpected = () => {
      throw new Error("not expected");
    };
    const outcome = await ghouls(["worker", "ended", ...argv], {
      env: { DATABASE_URL: "postgres://app@db/app" },
      user: () => "ada",
      ledger: {
        migrate: unexpected,
        migrationSql: unexpected,
        openLedger: unexpected,
        openStores: () =>
          ({
            deliveries: {
              sayWorkerEnded: (word: Said) => {
                said.push(word);
                return Promise.resolve({ workers, runs: workers.length });
              },
            },
            close: () => Promise.resolve(),
          }) as unknown as Stores,
      },
    });
    return { ...outcome, said };
  };

  test("says who said it, how they know, and what it was about", async () => {
    const { code, out, said } = await say(
      ["t-7", "--reason", "stopped", "--acts-margin", "5s"],
      ["t-7/a", "t-7/b"],
    );
    expect(code).toBe(0);
    expect(said).toEqual([
      { worker: "t-7", actor: "ada (command line)", reason: "stopped", actsMarginSeconds: 5 },
    ]);
    expect(out).toBe(
      "ended: t-7/a, t-7/b; 2 run(s) held something of it, and go on once 5000 ms have passed\n",
    );
  });

  test("a name that holds nothing is told apart", async () => {
    const { code, out } = await say(["t-7/a", "--reason", "stopped"], []);
    expect(code).toBe(0);
    expect(out).toBe("nothing is held by t-7/a: its end is recorded, or the name is another\n");
    const { out: json } = await say(["t-7/a", "--reason", "stopped", "--json"], []);
    expect(JSON.parse(json)).toEqual({ workers: [], runs: 0 });
  });

  test("asks for a reason", async () => {
    expect(await say(["t-7"], [])).toMatchObject({ code: 2, said: [] });
  });
});
