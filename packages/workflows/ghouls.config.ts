import { fileURLToPath } from "node:url";
import { defineConfig } from "ghouls";
import { hello } from "./src/hello.ts";
import { releaseGate } from "./src/release-gate/release-gate.ts";
import { route } from "./src/route.ts";

/** This repository's own. */
const lockfile = fileURLToPath(new URL("../../package-lock.json", import.meta.url));

export default defineConfig({
  workflows: [hello, releaseGate],
  route,
  // The examples ask nothing of other services: what a lost worker had under way is over soon.
  timing: { actsMargin: "5s" },
  // It reads its schemas from files of its own.
  build: { external: ["@cyclonedx/cyclonedx-library"] },
  examples: [
    { workflow: "hello", input: { name: "Ghouls" } },
    { workflow: "release-gate", input: { lockfile, questions: "policy" } },
  ],
});
