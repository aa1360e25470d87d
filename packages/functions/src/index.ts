/** What a developer's machine does with a configuration: nothing of it goes into a bundle. */
export {
  buildFunctions,
  takeBuild,
  type BuildOptions,
  type Built,
  type BuiltFunction,
  type TakeOptions,
} from "./build/functions.ts";
export { differencesOf, type Difference } from "./build/differences.ts";
export {
  basesOfBuild,
  pruneReleases,
  publishBuild,
  type Published,
  type ReleasePlace,
} from "./build/releases-of.ts";
export { basesOf, workflowsOf, type WorkflowOfBuild } from "./build/workflows-of.ts";
export { publishCode, type RunningCode } from "./build/publish-code.ts";
export { planOf } from "./build/plan-of.ts";
export { referencesIn } from "./plan/names.ts";
export { planDeployment, type DeploymentPlan } from "./plan/plan.ts";
