import {
  GhoulsError,
  NonRetryableError,
  NotDoneError,
  StepFailedError,
  notDone,
  type AnyWorkflow,
} from "@ghouls/core";
import { defineConfig } from "../config.ts";
import { httpDecisionSource } from "../http-decision-source.ts";
import { httpService } from "../services/http-service.ts";
import { stepFunctionsService } from "../services/step-functions-service.ts";
import { workflow } from "../workflow.ts";

/**
 * What the code of a release imports from `ghouls`: this process's own, so that its errors are those that the engine knows. A
 * release of before goes on only while each of these is here: a name that is taken away takes a workflow's runs with it.
 */
const HOSTED = {
  GhoulsError,
  NonRetryableError,
  NotDoneError,
  StepFailedError,
  defineConfig,
  httpDecisionSource,
  httpService,
  notDone,
  stepFunctionsService,
  workflow,
};

/** The same, which tells of each workflow that is defined by it. */
export function releaseHost(onDefined: (definition: AnyWorkflow) => void): Readonly<Record<string, unknown>> {
  const noted = (options: Parameters<typeof workflow>[0]): AnyWorkflow => {
    const definition = workflow(options) as AnyWorkflow;
    onDefined(definition);
    return definition;
  };
  return { ...HOSTED, workflow: noted };
}
