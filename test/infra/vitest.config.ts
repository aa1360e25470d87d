import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: {
    include: ["test/infra/**/*.test.ts"],
    globalSetup: ["test/infra/global-setup.ts"],
    maxWorkers: 2,
    // Some build, pack or deploy: many times what that takes, so that only one that hangs is ended.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    retry: 0,
  },
});
