import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { GhoulsError } from "@ghouls/core";
import type { Code, CodeAnswer, CodeSettings } from "./code.ts";
import type { CodeState, Reloading, ReloadOptions } from "./reload.ts";
import { startReloading } from "./reload.ts";
import { until } from "./until.support.ts";

const SETTINGS: CodeSettings = {
  queues: { runs: { batchSize: 5, concurrency: 2, worker: "function", functionTimeout: "15m" } },
  databaseSchema: "ghouls",
  actsMarginSeconds: 60,
  leaseMs: 120_000,
  beatMs: 30_000,
  capacities: { gpu: 1 },
  dev: { services: {}, buckets: {} },
};

let folder: string;
let main: string;
let reloading: Reloading | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ghouls-reload-"));
  main = join(folder, "main.ts");
});
afterEach(async () => {
  await reloading?.stop();
  rmSync(folder, { recursive: true });
});

function codeOf(text: string, over: { digest?: string; settings?: Partial<CodeSettings> } = {}): Code {
  return {
    files: { [main]: text },
    manifest: { "gate@1": over.digest ?? text },
    accepts: [],
    settings: { ...SETTINGS, ...over.settings },
  };
}

/** A reload over a real folder; what reading finds and whether replacing works is told by the test. */
function start(over: Partial<ReloadOptions> = {}) {
  const said: string[] = [];
  const replaced: Code[] = [];
  const states: CodeState[] = [];
  const watched: (readonly string[])[] = [];
  const capacities: unknown[] = [];
  const answers: CodeAnswer[] = [];
  let changed = (): void => undefined;
  let reads = 0;
  writeFileSync(main, "one");
  reloading = startReloading({
    first: codeOf("one"),
    read: () => {
      reads += 1;
      const answer = answers.shift();
      return answer === undefined
        ? Promise.reject(new Error("nobody expected that"))
        : Promise.resolve(answer);
    },
    replace: (code) => Promise.resolve(void replaced.push(code)),
    sayCapacities: (units) => Promise.resolve(void capacities.push(units)),
    watch: (call) => {
      changed = call;
      return { set: (files) => void watched.push(files), close: () => undefined };
    },
    openOfPins: (pins) => Promise.resolve(pins.map((pin) => ({ ...pin, runs: 2 }))),
    aboutStranded: ({ manifest }) =>
      Promise.resolve(manifest["gate@1"] === "three" ? ["some are stranded"] : []),
    say: (line) => said.push(line),
    show: (state) => Promise.resolve(void states.push(state)),
    ...over,
  });
  const save = (text: string, ...next: CodeAnswer[]): void => {
    writeFileSync(main, text);
    answers.push(...next);
    changed();
  };
  return {
    said,
    capacities,
    replaced,
    states,
    watched,
    answers,
    save,
    touch: () => changed(),
    reads: () => reads,
  };
}

test("a save takes the place of the code that runs, and it is told which digests moved and who is pinned", async () => {
  const { said, replaced, states, save } = start();
  save("two", { code: codeOf("two") });
  await until(() => said).toEqual([
    expect.stringMatching(/^reloaded: .*main\.ts$/),
    "  gate@1: one → two, 2 runs are pinned to the old one",
  ]);
  expect(replaced).toEqual([codeOf("two")]);
  await until(() => states.at(-1)).toMatchObject({
    workflows: { "gate@1": "two" },
    changed: [{ name: "gate", version: 1, from: "one", to: "two" }],
  });
});

test("what has become of other code's runs is offered with each change", async () => {
  const { said, save } = start();
  save("three", { code: codeOf("three") });
  await until(() => said.slice(1)).toEqual([
    "  gate@1: one → three, 2 runs are pinned to the old one",
    "  some are stranded",
  ]);
});

test("a save that moves no digest is run too, and said to move none", async () => {
  const { said, replaced, save } = start();
  save("one // why", { code: codeOf("one // why", { digest: "one" }) });
  await until(() => said.at(-1)).toBe("  no workflow's digest has changed");
  expect(replaced).toHaveLength(1);
});

test("a file that was only touched is not even read", async () => {
  const { touch, reads, save, said } = start();
  touch();
  touch();
  save("two", { code: codeOf("two") });
  await until(() => said).toHaveLength(2);
  expect(reads()).toBe(1);
});

test("what does not load changes nothing and is told once; the next good save goes on", async () => {
  const { said, replaced, states, watched, save } = start();
  const gone = join(folder, "gone.ts");
  const refused = { message: "main.ts:1:1: no", fix: "Correct it.", issues: [{ path: "/a", message: "b" }] };
  const answer = { refused, files: [main, gone] };
  save("bad", answer);
  await until(() => said).toEqual([
    "what was saved does not run, the code before goes on: main.ts:1:1: no",
    "  /a: b",
    "  Fix: Correct it.",
  ]);
  await until(() => states.at(-1)).toMatchObject({ workflows: { "gate@1": "one" }, refused });
  await until(() => watched.at(-1)).toEqual([main, gone]);
  save("bad again", answer);
  await until(() => watched).toHaveLength(3);
  expect(said).toHaveLength(3);
  expect(replaced).toEqual([]);
  save("two", { code: codeOf("two") });
  await until(() => said.at(3)).toMatch(/^reloaded: /);
  expect(states.at(-1)?.refused).toBeUndefined();
});

test("code that is put back after a bad save replaces nothing, and is said to run", async () => {
  const { said, replaced, states, save } = start();
  save("bad", { refused: { message: "no" }, files: [main] });
  await until(() => said).toHaveLength(1);
  save("one", { code: codeOf("one") });
  await until(() => said.at(-1)).toBe("the code is again as it runs");
  await until(() => states.at(-1)?.refused).toBeUndefined();
  expect(replaced).toEqual([]);
});

test("a file that was missing when the code was read, and came meanwhile, is looked at again", async () => {
  const { save, said } = start();
  const late = join(folder, "late.ts");
  writeFileSync(late, "here");
  const code = { ...codeOf("two"), files: { [main]: "two", [late]: "here" } };
  save("two", { refused: { message: "no late.ts" }, files: [main, late] }, { code });
  await until(() => said.at(-1)).toMatch(/gate@1: one → two/);
});

test("what was saved while it was read is read again, without a word", async () => {
  const { save, said, reads } = start();
  save("two", { moved: true }, { code: codeOf("two") });
  await until(() => said).toHaveLength(2);
  expect(reads()).toBe(2);
});

test.each([
  ["another queue", { queues: { ...SETTINGS.queues, rites: SETTINGS.queues["runs"] as never } }],
  ["another schema", { databaseSchema: "tavern" }],
  ["another lease", { leaseMs: 1_000 }],
])("%s wants a restart, and is not half taken", async (_name, settings) => {
  const { save, said, replaced } = start();
  save("two", { code: codeOf("two", { settings }) });
  await until(() => said.at(-1)).toContain("Restart `ghouls dev`");
  expect(replaced).toEqual([]);
});

test("other settings of a queue are taken with the code", async () => {
  const { save, said, replaced } = start();
  const queues = {
    runs: { batchSize: 1, concurrency: 3, worker: "function", functionTimeout: "5m" },
  } as const;
  save("two", { code: codeOf("two", { settings: { queues } }) });
  await until(() => said).toHaveLength(2);
  expect(replaced[0]?.settings.queues).toEqual(queues);
});

test("how many units there are is said with the code that runs, and told where it has changed", async () => {
  const { save, said, capacities } = start();
  save("two", { code: codeOf("two", { settings: { capacities: { gpu: 2, tpu: 1 } } }) });
  await until(() => said.slice(-2)).toEqual(["  gpu: 1 → 2 units", "  tpu: 0 → 1 units"]);
  expect(capacities).toEqual([{ gpu: 2, tpu: 1 }]);
});

test("code whose units could not be said runs, and that is told", async () => {
  const { save, said, replaced } = start({ sayCapacities: () => Promise.reject(new Error("out of reach")) });
  save("two", { code: codeOf("two", { settings: { capacities: { gpu: 2 } } }) });
  await until(() => said.at(-1)).toContain("could not be said, and stays as it was: Error: out of reach");
  expect(replaced).toHaveLength(1);
});

test("processes that cannot start with the code leave the one before, and say why", async () => {
  const { save, said, states } = start({
    replace: () =>
      Promise.reject(new GhoulsError("internal", "runs-1 could not start: no", { fix: "Look." })),
  });
  save("two", { code: codeOf("two") });
  await until(() => said).toEqual([expect.stringContaining("runs-1 could not start: no"), "  Fix: Look."]);
  await until(() => states.at(-1)).toMatchObject({ workflows: { "gate@1": "one" } });
});

test("a ledger that cannot count and a reading that breaks are told, and the watch goes on", async () => {
  const { save, said, replaced } = start({ openOfPins: () => Promise.reject(new Error("out of reach")) });
  save("odd");
  await until(() => said).toEqual(["a reload failed: Error: nobody expected that"]);
  save("two", { code: codeOf("two") });
  await until(() => said.slice(2)).toEqual([
    "  gate@1: one → two",
    "  the runs that are open could not be counted: Error: out of reach",
  ]);
  expect(replaced).toHaveLength(1);
});

test("a stop gives up what is being read, and replaces nothing any more", async () => {
  const replaced: Code[] = [];
  const asked = Promise.withResolvers<void>();
  const { save } = start({
    read: async (signal) => {
      asked.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      return { code: codeOf("two") };
    },
    replace: (code) => Promise.resolve(void replaced.push(code)),
  });
  save("two");
  await asked.promise;
  await reloading?.stop();
  expect(replaced).toEqual([]);
});
