import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: {
    include: ["test/aws/**/*.test.ts"],
    globalSetup: ["test/aws/global-setup.ts"],
    // Many times what the longest takes, so that only what hangs is ended.
    maxWorkers: 2,
    testTimeout: 600_000,
    hookTimeout: 600_000,
    retry: 0,
  },
});
