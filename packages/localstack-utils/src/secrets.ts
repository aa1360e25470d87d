import type { Clients } from "./clients.ts";
import { removed } from "./apply/applier.ts";

/** Keeps a text in the endpoint's Secrets Manager, under a name. Answers its ARN. */
export async function keepSecret(name: string, text: string, { secrets }: Clients): Promise<string> {
  try {
    const { ARN: arn = "" } = await secrets.createSecret({ Name: name, SecretString: text });
    return arn;
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "ResourceExistsException") throw error;
    const { ARN: arn = "" } = await secrets.putSecretValue({ SecretId: name, SecretString: text });
    return arn;
  }
}

export function removeSecret(name: string, { secrets }: Clients): Promise<void> {
  return removed(secrets.deleteSecret({ SecretId: name, ForceDeleteWithoutRecovery: true }));
}
