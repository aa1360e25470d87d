import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: {
    include: ["test/aws/**/*.test.ts"],
    globalSetup: ["test/aws/global-setup.ts"],
    // One cloud, one deployment at a time.
    fileParallelism: false,
    testTimeout: 240_000,
    hookTimeout: 300_000,
    retry: 0,
  },
});
