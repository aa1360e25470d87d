import type { Clients } from "../clients.ts";
import { isAbsent, removed, type Applier } from "./applier.ts";

export const role: Applier = {
  apply: async ({ clients: { iam }, inputs, earlier, began }) => {
    const name = inputs.text("name");
    if (earlier === undefined) {
      await iam.createRole({ RoleName: name, AssumeRolePolicyDocument: inputs.document("assumeRolePolicy") });
      await began({ name });
    }
    for (const policy of inputs.objects("inlinePolicies")) {
      await iam.putRolePolicy({
        RoleName: name,
        PolicyName: policy.text("name"),
        PolicyDocument: policy.text("policy"),
      });
    }
    for (const arn of inputs.texts("managedPolicyArns")) {
      await iam.attachRolePolicy({ RoleName: name, PolicyArn: arn });
    }
    return { keys: { name }, state: {} };
  },
  remove: ({ keys }, clients) => removeRole(keys["name"] ?? "", clients),
};

/** A role goes only once its policies have. */
async function removeRole(name: string, { iam }: Clients): Promise<void> {
  try {
    const { PolicyNames = [] } = await iam.listRolePolicies({ RoleName: name });
    for (const policy of PolicyNames) await iam.deleteRolePolicy({ RoleName: name, PolicyName: policy });
    const { AttachedPolicies = [] } = await iam.listAttachedRolePolicies({ RoleName: name });
    for (const { PolicyArn } of AttachedPolicies) await iam.detachRolePolicy({ RoleName: name, PolicyArn });
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
  await removed(iam.deleteRole({ RoleName: name }));
}
