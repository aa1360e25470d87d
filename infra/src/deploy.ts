import type { DeploymentPlan } from "@ghouls/functions";
import { makeFunction, type Fn, type FunctionParts } from "./functions.ts";
import { logicalName } from "./platform.ts";

/** The functions of a deployment by their id. */
export type Functions = ReadonlyMap<string, Fn>;

/**
 * The steps of a deploy: the migration expands the schema, the preflight judges the ledger and records the releases, which are
 * there before, and only then is the code of the others switched. Both are functions, so the database needs no way in from where the deploy runs. One that fails ends
 * the deploy, and the old code goes on.
 */
export function deploy(
  plan: DeploymentPlan,
  releases: readonly $util.Resource[],
  parts: FunctionParts,
): Functions {
  const { aws } = parts.components;
  const made = new Map<string, Fn>();
  const triggers = { build: parts.project.built.build };
  let after: $util.Resource[] = [];
  for (const id of ["migrate", "preflight"] as const) {
    const fn = makeFunction(planned(plan, id), parts);
    made.set(id, fn);
    const invoked = new aws.lambda.Invocation(
      logicalName(`${id}-invocation`),
      { functionName: fn.name, input: JSON.stringify(triggers), triggers },
      { dependsOn: [fn, ...after, ...(id === "preflight" ? releases : [])] },
    );
    after = [invoked];
  }
  for (const one of plan.functions.filter(({ afterPreflight }) => afterPreflight)) {
    made.set(one.id, makeFunction(one, parts, after));
  }
  return made;
}

function planned(plan: DeploymentPlan, id: string) {
  const found = plan.functions.find((one) => one.id === id);
  if (found === undefined) throw new Error(`the plan has no function ${id}`);
  return found;
}

/** A function that the plan names. */
export function functionOf(functions: Functions, id: string): Fn {
  const found = functions.get(id);
  if (found === undefined) throw new Error(`the plan names ${id}, which is no function`);
  return found;
}
