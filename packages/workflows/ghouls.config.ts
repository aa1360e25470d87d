import { fileURLToPath } from "node:url";
import { defineConfig } from "ghouls";
import { agent } from "./src/agent/agent.ts";
import { hello } from "./src/hello.ts";
import { payout } from "./src/payout/payout.ts";
import { releaseGate } from "./src/release-gate/release-gate.ts";
import { route } from "./src/route.ts";
import { signer, signerOrigin } from "./src/signer.ts";

/** This repository's own. */
const lockfile = fileURLToPath(new URL("../../package-lock.json", import.meta.url));

export default defineConfig({
  workflows: [hello, releaseGate, agent, payout],
  route,
  services: { signer },
  egress: { origins: [signerOrigin] },
  // No request of the examples takes longer, to the signing service or to S3: what a lost worker had sent is over soon.
  timing: { actsMargin: "5s" },
  // It reads its schemas from files of its own.
  build: { external: ["@cyclonedx/cyclonedx-library"] },
  // What `npm start` runs beside them.
  dev: {
    services: { signer: { module: "./src/signing-service/main.ts" } },
    buckets: { RELEASES_BUCKET: "releases" },
  },
  examples: [
    { workflow: "hello", input: { name: "Ghouls" } },
    { workflow: "release-gate", input: { lockfile, questions: "policy" } },
    { workflow: "agent", input: { goal: "Where is order 1002?" } },
  ],
});
