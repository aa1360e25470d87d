import type { DeploymentPlan } from "@ghouls/functions";
import type { VpcOptions } from "./options.ts";
import { logicalName, type Components, type Value } from "./platform.ts";

/**
 * The endpoints through which functions in a VPC reach AWS without a way to the internet.
 * @throws Error where an endpoint is a route and no route tables are given
 */
export function makeEndpoints({ aws }: Components, { network }: DeploymentPlan, vpc: VpcOptions): void {
  const endpoints = network?.endpoints ?? [];
  if (endpoints.length === 0) return;
  if (vpc.routeTables === undefined) {
    throw new Error(
      "vpc.routeTables is missing: DynamoDB's endpoint is a route.\n  Fix: name the route tables of the subnets, or set vpc.endpoints to false where there is a NAT.",
    );
  }
  const region = aws.getRegionOutput().region;
  const securityGroup = new aws.ec2.SecurityGroup(logicalName("endpoints"), {
    description: "Functions of Ghouls reach AWS",
    vpcId: vpc.id as Value<string>,
    ingress: [
      {
        description: "HTTPS of the functions",
        protocol: "tcp",
        fromPort: 443,
        toPort: 443,
        securityGroups: vpc.securityGroups as Value<string[]>,
      },
    ],
  });
  for (const { service, type } of endpoints) {
    new aws.ec2.VpcEndpoint(logicalName(`${service}-endpoint`), {
      vpcId: vpc.id as Value<string>,
      serviceName: $util.interpolate`com.amazonaws.${region}.${service}`,
      vpcEndpointType: type,
      ...(type === "Gateway"
        ? { routeTableIds: vpc.routeTables as Value<string[]> }
        : {
            privateDnsEnabled: true,
            subnetIds: vpc.subnets as Value<string[]>,
            securityGroupIds: [securityGroup.id],
          }),
    });
  }
}
