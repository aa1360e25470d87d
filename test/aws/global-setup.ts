import type { TestProject } from "vitest/node";
import { bundleWorker } from "../support/setups/worker-bundle.ts";
import { findEmulator } from "./emulator.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the emulator listens; null where there is none, and nobody minds. */
    emulator: string | null;
  }
}

const ABSENT =
  "NOT RUN: no LocalStack-compatible endpoint. Set AWS_ENDPOINT_URL, or let python3 install ministack from PyPI.";

/** One emulator for the whole run. Without one nothing has been tested, and that is no success unless CI_OFFLINE says so. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const emulator = await findEmulator();
  const worker = await bundleWorker();
  provide("workerProcess", worker.file);
  if ("missing" in emulator) {
    if (process.env["CI_OFFLINE"] !== "1") throw new Error(`${ABSENT}\n${emulator.missing}`);
    process.stderr.write(`${ABSENT}\n`);
    provide("emulator", null);
    return () => Promise.resolve(worker.remove());
  }
  provide("emulator", emulator.endpoint);
  return () => {
    worker.remove();
    return emulator.stop();
  };
}
