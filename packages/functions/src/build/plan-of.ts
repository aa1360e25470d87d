import { loadConfig } from "ghouls";
import type { PlanOptionsInput } from "../plan/options.ts";
import { planDeployment, type DeploymentPlan } from "../plan/plan.ts";

/**
 * The plan of a configuration's deployment.
 * @param config path of ghouls.config.ts
 * @throws GhoulsError configuration_invalid where it cannot be loaded, or cannot be deployed as it is
 */
export async function planOf(config: string, options: PlanOptionsInput): Promise<DeploymentPlan> {
  const loaded = await loadConfig(config);
  return planDeployment(loaded.config, options);
}
