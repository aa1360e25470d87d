import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { NEEDS, isInstalled } from "./support/setups/binaries.ts";

/** What speaks to the ledger, and so runs on each way to reach one. */
const LEDGER_SUITE = [
  "test/integration/ledger-*.test.ts",
  "test/integration/{admission,containment,doctor,handover,hop,integrity,loss,transactions,transactions-again}.test.ts",
  "test/races/*.test.ts",
];

const project = (name: string, include: readonly string[]) => ({
  extends: true as const,
  test: {
    name,
    include: [...include],
    globalSetup: [`test/support/setups/${name}.ts`],
  },
});

/** Leaves a project out, and says so, where its server is not installed; CI has to install it. */
function where(name: keyof typeof NEEDS) {
  if (isInstalled(name)) return [project(name, LEDGER_SUITE)];
  const missing = `the ledger suite on ${name}: apt-get install ${NEEDS[name].package}`;
  if (process.env["CI"] !== undefined) throw new Error(`cannot run ${missing}`);
  process.stderr.write(`NOT RUN: ${missing}\n`);
  return [];
}

export default defineConfig({
  root: fileURLToPath(new URL("..", import.meta.url)),
  test: {
    // These need SST's platform, and an emulator: `npm run test:infra`, `npm run test:aws`.
    exclude: ["**/node_modules/**", "test/infra/**", "test/aws/**"],
    // One more than CI has cores: some files wait for leases and limits for most of their time.
    maxWorkers: 3,
    // Many times what the longest takes: a slow machine is no fault, and what hangs is ended.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    // Processes that tests start load the same sources again and again: they are compiled once.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("../node_modules/.cache/compiled", import.meta.url)) },
    // A test that failed once is a fault to be found.
    retry: 0,
    projects: [
      project("postgres18", ["packages/*/{src,app}/**/*.test.ts", "test/**/*.test.ts"]),
      ...where("postgres15"),
      ...where("pgbouncer"),
      project("neon", LEDGER_SUITE),
    ],
  },
});
