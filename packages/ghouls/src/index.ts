export {
  GhoulsError,
  NonRetryableError,
  NotDoneError,
  StepFailedError,
  notDone,
  type Authenticator,
  type Codec,
  type Permission,
  type Principal,
  type ProbeAnswer,
  type ProbeContext,
  type StepContext,
  type StepOptions,
  type WorkflowContext,
  type WorkflowDefinition,
} from "@ghouls/core";
export { createAdmitter, type Admitter, type AdmitRequest } from "./admit.ts";
export { defineConfig, type Config, type ConfigOptions } from "./config.ts";
export { codeDigest, digestManifest, type DigestManifest, type ReadModule } from "./digest/digest.ts";
export { createMigrator, createPreflight, type PreflightReport } from "./handlers/deploy.ts";
export { createAdmissionHandler, createApiHandler, createFetch } from "./handlers/http.ts";
export { createReconciler } from "./handlers/reconciler.ts";
export { createWorker } from "./handlers/worker.ts";
export { loadConfig, type LoadedConfig } from "./load-config.ts";
export { workflow, type WorkflowOptions } from "./workflow.ts";
