import { expect, test } from "vitest";
import { createAdmitter } from "./admit.ts";
import { defineConfig, type ConfigOptions } from "./config.ts";

const VARIABLES = {
  DATABASE_URL: "postgres://app@127.0.0.1:9/none",
  GHOULS_QUEUE_RUNS_URL: "http://127.0.0.1:9/1/runs",
};

/** What an application's process says when it begins to admit. */
async function saidBy(variables: Readonly<Record<string, string>>, config: Partial<ConfigOptions> = {}) {
  const lines: string[] = [];
  const admitter = createAdmitter(defineConfig({ workflows: [], ...config }), {
    variables: { ...VARIABLES, ...variables },
    write: (line) => void lines.push(line),
  });
  await admitter.close();
  await admitter.close();
  return lines;
}

test("an application that cannot wake the reconciler says so once, and what it lacks", async () => {
  const lines = await saidBy({});
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/"level":"warn".*EVENTS_TABLE.*dynamodb:UpdateItem/);
});

test.each([
  ["it has the table", { EVENTS_TABLE: "events" }, {}],
  ["the hint is turned off", {}, { reconciler: { hint: false } }],
  ["it runs on one machine, where nothing sleeps", { AWS_ENDPOINT_URL: "http://127.0.0.1:9" }, {}],
] as const)("it says nothing where %s", async (_why, variables, config) => {
  expect(await saidBy(variables, config)).toEqual([]);
});
