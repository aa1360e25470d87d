import type { DeploymentPlan } from "@ghouls/functions";
import { functionOf, type Functions } from "./deploy.ts";
import { logicalName, type Components } from "./platform.ts";
import type { References } from "./references.ts";

/** The HTTP API, before the functions: some of them name its address. No browser of another origin is let in. */
export function makeHttp({ sst }: Components, { http, functions }: DeploymentPlan, references: References) {
  const api = new sst.aws.ApiGatewayV2(logicalName("http"), {
    cors: false,
    transform: {
      stage: (stage) => {
        stage.defaultRouteSettings = {
          throttlingRateLimit: http.throttle.rate,
          throttlingBurstLimit: http.throttle.burst,
        };
      },
      logGroup: (log) => {
        log.retentionInDays = functions[0]?.logDays ?? 30;
      },
    },
  });
  references.set("http.id", api.nodes.api.id);
  references.set("http.url", api.url);
  return api;
}

/** Each route leads to the function that has it. */
export function routeHttp(api: ReturnType<typeof makeHttp>, { http }: DeploymentPlan, made: Functions): void {
  for (const [route, id] of Object.entries(http.routes)) api.route(route, functionOf(made, id).arn);
}
