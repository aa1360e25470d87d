export {
  GhoulsError,
  NonRetryableError,
  NotDoneError,
  StepFailedError,
  notDone,
  type Authenticator,
  type Codec,
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
export { digestManifest, type DigestManifest, type ReadModule } from "./digest/digest.ts";
export { modulesOf, type Reached } from "./digest/modules.ts";
export { createMigrator, createPreflight, type PreflightReport } from "./handlers/deploy.ts";
export { createAdmissionHandler, createApiHandler, createFetch } from "./handlers/http.ts";
export { createReconciler } from "./handlers/reconciler.ts";
export { createWorker } from "./handlers/worker.ts";
export { loadConfig, type LoadedConfig } from "./load-config.ts";
export { workflow, type WorkflowOptions } from "./workflow.ts";
