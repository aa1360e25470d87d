import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL("..", import.meta.url)),
  test: {
    include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts"],
    // Needs SST's platform: `npm run test:infra`.
    exclude: ["**/node_modules/**", "test/infra/**"],
    globalSetup: ["test/support/global-setup.ts"],
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // A test that failed once is a fault to be found.
    retry: 0,
  },
});
