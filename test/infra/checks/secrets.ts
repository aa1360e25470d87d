import type { Graph, Json } from "@ghouls/localstack-utils";
import type { Check } from "./check.ts";
import { functions } from "./resources.ts";

/** A connection string with a password in it. */
const PASSWORD = /[a-z][\w+.-]*:\/\/[^\s/:@]*:[^\s/@]+@/;

/** Variables and state of a function are read by everybody who may look at it: only an address of a secret may be there. */
export const secretsInVariables: Check = (graph, { secretValues }) =>
  functions(graph).flatMap(({ name, inputs }) =>
    Object.entries(inputs.environment.variables)
      .filter(
        ([variable, value]) => isSecret(value, secretValues) || (isSecretName(variable) && value !== ""),
      )
      .map(([variable]) => `${name} has a secret in its variable ${variable}`),
  );

function isSecretName(variable: string): boolean {
  return /(PASSWORD|SECRET|TOKEN|PRIVATE_KEY|SST_KEY)$/.test(variable);
}

function isSecret(value: string, secrets: readonly string[]): boolean {
  return PASSWORD.test(value) || secrets.some((secret) => value.includes(secret));
}

/** What the deployment keeps of its resources, and what it prints. */
export const secretsInState: Check = (graph, { secretValues }) => {
  const places: readonly (readonly [string, Json])[] = [
    ...graph.resources.map((one) => [one.name, [withoutVariables(one), one.state]] as const),
    ...graph.calls.map(({ token, inputs }) => [token, inputs] as const),
    ["the outputs", graph.outputs],
  ];
  return places
    .filter(([, held]) => textsIn(held).some((text) => isSecret(text, secretValues)))
    .map(([name]) => `${name} holds a secret`);
};

/** Variables have a check of their own. */
function withoutVariables({ type, inputs }: Graph["resources"][number]): Json {
  if (type !== "aws:lambda/function:Function") return inputs;
  const { environment: _, ...others } = inputs;
  return others;
}

function textsIn(value: Json): string[] {
  if (typeof value === "string") return [value];
  if (value === null || typeof value !== "object") return [];
  return Object.values(value).flatMap((item: Json) => textsIn(item));
}
