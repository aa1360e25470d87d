import type { Check, ExpectedVpc } from "./check.ts";
import { componentOf, endpoints, functions, securityGroups } from "./resources.ts";

/** The functions are where they were told to be, and nowhere else. */
export const placement: Check = (graph, { vpc }) =>
  functions(graph).flatMap((fn) => {
    const { name, inputs } = fn;
    const { subnetIds = [], securityGroupIds = [] } = inputs.vpcConfig ?? {};
    const inside = vpc?.outside?.includes(componentOf(fn)) === true ? undefined : vpc;
    const { subnets = [], securityGroups: groups = [] } = inside ?? {};
    return [
      ...(same(subnetIds, subnets) ? [] : [`${name} is in the subnets ${subnetIds.join(", ") || "none"}`]),
      ...(same(securityGroupIds, groups)
        ? []
        : [`${name} is in the groups ${securityGroupIds.join(", ") || "none"}`]),
    ];
  });

type Endpoint = ReturnType<typeof endpoints>[number];

/** A function in a VPC reaches AWS by these, and by nothing else. */
export const vpcEndpoints: Check = (graph, { vpc }) => {
  const found = endpoints(graph);
  const service = ({ inputs }: Endpoint) => inputs.serviceName.split(".").at(-1) ?? "";
  const wanted = [...(vpc?.interfaces ?? []), ...(vpc?.gateways ?? [])];
  return [
    ...wanted
      .filter((name) => found.filter((one) => service(one) === name).length !== 1)
      .map((name) => `${name} has no endpoint, or several`),
    ...found.filter((one) => !wanted.includes(service(one))).map(({ name }) => `nobody needs ${name}`),
    ...found.flatMap((one) => {
      if (vpc === undefined) return [];
      const gateway = vpc.gateways.includes(service(one));
      return [
        ...(one.inputs.vpcId === vpc.id ? [] : [`${one.name} is in ${one.inputs.vpcId}`]),
        ...(gateway ? gatewayProblems(one, vpc) : interfaceProblems(one, vpc)),
      ];
    }),
  ];
};

function gatewayProblems({ name, inputs }: Endpoint, vpc: ExpectedVpc): string[] {
  if (inputs.vpcEndpointType !== "Gateway") return [`${name} costs by the hour, and a gateway is free`];
  return same(inputs.routeTableIds, vpc.routeTables) ? [] : [`${name} is in other route tables`];
}

function interfaceProblems({ name, inputs }: Endpoint, vpc: ExpectedVpc): string[] {
  return [
    ...(inputs.vpcEndpointType === "Interface" ? [] : [`${name} is a ${inputs.vpcEndpointType}`]),
    ...(inputs.privateDnsEnabled ? [] : [`${name} is not found under the service's own name`]),
    ...(same(inputs.subnetIds, vpc.subnets)
      ? []
      : [`${name} is in the subnets ${inputs.subnetIds.join(", ")}`]),
    ...(inputs.securityGroupIds.length > 0 ? [] : [`${name} has the VPC's own security group`]),
  ];
}

/** HTTPS from the functions, and from nobody else. */
export const ingress: Check = (graph, { vpc }) => {
  const guarding = new Set(endpoints(graph).flatMap(({ inputs }) => inputs.securityGroupIds));
  return securityGroups(graph)
    .filter(({ id }) => guarding.has(id))
    .flatMap(({ name, inputs }) => {
      const wide = inputs.ingress.some(
        (rule) =>
          rule.cidrBlocks.length + rule.ipv6CidrBlocks.length > 0 ||
          rule.fromPort !== 443 ||
          rule.toPort !== 443,
      );
      const from = inputs.ingress.flatMap((rule) => rule.securityGroups);
      return [
        ...(wide ? [`${name} lets more in than HTTPS of the functions`] : []),
        ...(same(from, vpc?.securityGroups ?? []) ? [] : [`${name} lets in ${from.join(", ") || "nobody"}`]),
        ...(inputs.vpcId === vpc?.id ? [] : [`${name} is in ${inputs.vpcId ?? "the default VPC"}`]),
      ];
    });
};

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.toSorted().join() === b.toSorted().join();
}
