import { goesAlong, removed, type Applier } from "./applier.ts";

/** Both LocalStack and ministack answer for an API under a path of their own address. */
export function apiAddress(endpoint: string, id: string): string {
  return `${endpoint}/_aws/execute-api/${id}`;
}

export const api: Applier = {
  apply: async ({ clients: { http, url }, inputs, earlier }) => {
    const made = async (): Promise<string> => {
      const { ApiId } = await http.createApi({ Name: inputs.text("name"), ProtocolType: "HTTP" });
      return ApiId ?? "";
    };
    const id = earlier?.keys["id"] ?? (await made());
    return { keys: { id }, state: { id, apiEndpoint: apiAddress(url, id) } };
  },
  remove: ({ keys }, { http }) => removed(http.deleteApi({ ApiId: keys["id"] ?? "" })),
};

export const integration: Applier = {
  apply: async ({ clients: { http }, inputs, earlier }) => {
    const known = earlier?.keys["id"];
    if (known !== undefined) return { keys: { id: known }, state: { id: known } };
    const { IntegrationId: id = "" } = await http.createIntegration({
      ApiId: inputs.text("apiId"),
      IntegrationType: "AWS_PROXY",
      IntegrationUri: inputs.text("integrationUri"),
      PayloadFormatVersion: inputs.text("payloadFormatVersion"),
    });
    return { keys: { id }, state: { id } };
  },
  remove: goesAlong,
};

export const route: Applier = {
  apply: async ({ clients: { http }, inputs, earlier }) => {
    if (earlier === undefined) {
      await http.createRoute({
        ApiId: inputs.text("apiId"),
        RouteKey: inputs.text("routeKey"),
        Target: inputs.text("target"),
      });
    }
    return { keys: { route: inputs.text("routeKey") }, state: {} };
  },
  remove: goesAlong,
};

export const stage: Applier = {
  apply: async ({ clients: { http }, inputs, earlier }) => {
    if (earlier === undefined) {
      await http.createStage({
        ApiId: inputs.text("apiId"),
        StageName: inputs.text("name"),
        AutoDeploy: true,
      });
    }
    return { keys: {}, state: {} };
  },
  remove: goesAlong,
};
