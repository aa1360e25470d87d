export {
  GhoulsError,
  NonRetryableError,
  NotDoneError,
  StepFailedError,
  notDone,
  type AnyService,
  type AskContext,
  type Authenticator,
  type ChildOptions,
  type ChildResult,
  type Authority,
  type AuthorityAnswer,
  type AuthorityCheck,
  type AuthorityQuestion,
  type ReserveOptions,
  type ReserveResult,
  type Codec,
  type ConsentOptions,
  type ConsentResult,
  type Decision,
  type DecisionSource,
  type DelegateOptions,
  type DelegateResult,
  type Grant,
  type GrantAnswer,
  type GrantProvider,
  type GrantQuestion,
  type JobAnswer,
  type JobRef,
  type JobSubmission,
  type MapOptions,
  type ParentClose,
  type Permission,
  type Principal,
  type ProbeAnswer,
  type ProbeContext,
  type QueryAnswer,
  type ResourceContext,
  type ResourceDefinition,
  type Service,
  type ServiceTimes,
  type ServiceTraits,
  type SignalOptions,
  type SignalResult,
  type SourceAnswer,
  type SourceQuestion,
  type StepContext,
  type StepOptions,
  type Transaction,
  type TransactionOptions,
  type UndoContext,
  type WorkflowContext,
  type WorkflowDefinition,
} from "@ghouls/core";
export { createAdmitter, type Admitter, type AdmitRequest } from "./admit.ts";
export { fromDrizzle, fromKysely } from "./callers.ts";
export { defineConfig, type Config, type ConfigOptions } from "./config.ts";
export {
  codeDigest,
  digestBasis,
  digestManifest,
  type DigestManifest,
  type ReadModule,
} from "./digest/digest.ts";
export { modulesOf, type Reached } from "./digest/modules.ts";
export { createMigrator, createPreflight, type PreflightReport } from "./handlers/deploy.ts";
export { createEgress, type EgressOverrides } from "./handlers/egress.ts";
export {
  createAdmissionHandler,
  createApiHandler,
  createEventsHandler,
  createFetch,
} from "./handlers/http.ts";
export { createPublisher, type MakeBundles } from "./handlers/publisher.ts";
export { createReconciler } from "./handlers/reconciler.ts";
export { createWorker } from "./handlers/worker.ts";
export { httpDecisionSource, type HttpDecisionSourceOptions } from "./http-decision-source.ts";
export { jwks, type JwksOptions } from "./jwks.ts";
export { loadConfig, type LoadedConfig } from "./load-config.ts";
export { HOST_MODULE, importRelease } from "./releases/module.ts";
export { publishReleases, removeReleases, type CleanUp, type ReleasePlaces } from "./releases/publishing.ts";
export { openReleaseStore } from "./releases/store.ts";
export { httpService, type HttpServiceOptions } from "./services/http-service.ts";
export { stepFunctionsService, type StepFunctionsServiceOptions } from "./services/step-functions-service.ts";
export { runWorker, type RunWorkerOptions } from "./worker/run-worker.ts";
export { workflow, type WorkflowOptions } from "./workflow.ts";
