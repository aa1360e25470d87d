import type { Json, JsonObject, Place } from "./graph.ts";

/** What AWS computes of a resource, its id among it. */
type Attributes = { readonly id: string } & JsonObject;
type Computed = (
  resource: { readonly name: string; readonly inputs: JsonObject },
  place: Place,
) => Attributes;

/** By type. A type that is missing is refused: an attribute nobody thought of would silently be undefined. */
const COMPUTED: Readonly<Record<string, Computed>> = {
  "aws:sqs/queue:Queue": ({ inputs }, place) => {
    const url = `${place.sqsUrl}/${place.account}/${text(inputs, "name")}`;
    return { id: url, url, arn: arn(place, "sqs", text(inputs, "name")) };
  },
  "aws:sqs/queuePolicy:QueuePolicy": ({ inputs }) => ({ id: text(inputs, "queueUrl") }),
  "aws:dynamodb/table:Table": ({ inputs }, place) => ({
    id: text(inputs, "name"),
    arn: arn(place, "dynamodb", `table/${text(inputs, "name")}`),
  }),
  "aws:lambda/function:Function": ({ inputs }, place) => {
    const own = arn(place, "lambda", `function:${text(inputs, "name")}`);
    const invoke = (version: string) =>
      `arn:aws:apigateway:${place.region}:lambda:path/${version}/functions/${own}/invocations`;
    return {
      id: text(inputs, "name"),
      arn: own,
      qualifiedArn: `${own}:$LATEST`,
      version: "$LATEST",
      invokeArn: invoke("2015-03-31"),
      responseStreamingInvokeArn: invoke("2021-11-15"),
    };
  },
  "aws:lambda/eventSourceMapping:EventSourceMapping": ({ name }, place) => ({
    id: idOf(name),
    uuid: idOf(name),
    arn: arn(place, "lambda", `event-source-mapping:${idOf(name)}`),
  }),
  "aws:lambda/permission:Permission": named,
  "aws:lambda/functionEventInvokeConfig:FunctionEventInvokeConfig": named,
  // A function that answered: what the answer is worth is the function's own test.
  "aws:lambda/invocation:Invocation": ({ inputs }) => ({
    id: `${text(inputs, "functionName")}_$LATEST`,
    result: "{}",
  }),
  "aws:lambda/functionUrl:FunctionUrl": ({ name, inputs }, place) => ({
    id: text(inputs, "functionName"),
    urlId: idOf(name),
    functionArn: arn(place, "lambda", `function:${text(inputs, "functionName")}`),
    functionUrl: `https://${idOf(name)}.lambda-url.${place.region}.on.aws/`,
  }),
  "aws:iam/role:Role": ({ inputs }, place) => ({
    id: text(inputs, "name"),
    arn: globalArn(place, "iam", `role/${text(inputs, "name")}`),
    uniqueId: "AROA0MOCK",
  }),
  "aws:iam/rolePolicy:RolePolicy": named,
  "aws:iam/rolePolicyAttachment:RolePolicyAttachment": named,
  "aws:iam/policy:Policy": ({ name, inputs }, place) => {
    const own = globalArn(place, "iam", `policy/${optional(inputs, "name") ?? name}`);
    return { id: own, arn: own };
  },
  "aws:apigatewayv2/api:Api": ({ name }, place) => ({
    id: idOf(name),
    arn: `arn:aws:apigateway:${place.region}::/apis/${idOf(name)}`,
    executionArn: arn(place, "execute-api", idOf(name)),
    apiEndpoint: `https://${idOf(name)}.execute-api.${place.region}.amazonaws.com`,
  }),
  "aws:apigatewayv2/stage:Stage": ({ inputs }, place) => ({
    id: text(inputs, "name"),
    arn: `arn:aws:apigateway:${place.region}::/apis/${text(inputs, "apiId")}/stages/${text(inputs, "name")}`,
    executionArn: arn(place, "execute-api", `${text(inputs, "apiId")}/${text(inputs, "name")}`),
    invokeUrl: `https://${text(inputs, "apiId")}.execute-api.${place.region}.amazonaws.com/`,
  }),
  "aws:apigatewayv2/route:Route": named,
  "aws:apigatewayv2/integration:Integration": named,
  "aws:apigatewayv2/authorizer:Authorizer": named,
  "aws:scheduler/schedule:Schedule": ({ inputs }, place) => ({
    id: `default/${text(inputs, "name")}`,
    arn: arn(place, "scheduler", `schedule/default/${text(inputs, "name")}`),
  }),
  "aws:cloudwatch/metricAlarm:MetricAlarm": ({ name, inputs }, place) => {
    const own = optional(inputs, "name") ?? name;
    return { id: own, name: own, arn: arn(place, "cloudwatch", `alarm:${own}`) };
  },
  "aws:cloudwatch/dashboard:Dashboard": ({ name, inputs }, place) => {
    const own = optional(inputs, "dashboardName") ?? name;
    return { id: own, dashboardArn: globalArn(place, "cloudwatch", `dashboard/${own}`) };
  },
  "aws:cloudwatch/logGroup:LogGroup": ({ inputs }, place) => ({
    id: text(inputs, "name"),
    arn: arn(place, "logs", `log-group:${text(inputs, "name")}`),
  }),
  "aws:cloudwatch/logMetricFilter:LogMetricFilter": named,
  "aws:sns/topic:Topic": ({ name, inputs }, place) => {
    const own = arn(place, "sns", optional(inputs, "name") ?? name);
    return { id: own, arn: own };
  },
  "aws:sns/topicSubscription:TopicSubscription": named,
  "aws:ec2/securityGroup:SecurityGroup": ({ name }, place) => ({
    id: `sg-${idOf(name)}`,
    arn: arn(place, "ec2", `security-group/sg-${idOf(name)}`),
    ownerId: place.account,
  }),
  "aws:ec2/securityGroupRule:SecurityGroupRule": named,
  "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": named,
  "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": named,
  "aws:ec2/vpcEndpoint:VpcEndpoint": ({ name }, place) => ({
    id: `vpce-${idOf(name)}`,
    arn: arn(place, "ec2", `vpc-endpoint/vpce-${idOf(name)}`),
    dnsEntries: [
      { dnsName: `vpce-${idOf(name)}.${place.region}.vpce.amazonaws.com`, hostedZoneId: "Z0MOCK" },
    ],
  }),
  "aws:secretsmanager/secret:Secret": ({ name, inputs }, place) => {
    const own = arn(place, "secretsmanager", `secret:${optional(inputs, "name") ?? name}-000000`);
    return { id: own, arn: own };
  },
  "aws:ssm/parameter:Parameter": ({ inputs }, place) => ({
    id: text(inputs, "name"),
    arn: arn(place, "ssm", `parameter/${text(inputs, "name").replace(/^\//, "")}`),
    version: 1,
  }),
  "aws:s3/bucket:Bucket": bucket,
  "aws:s3/bucketV2:BucketV2": bucket,
  "aws:s3/bucketObjectv2:BucketObjectv2": ({ inputs }) => ({
    id: text(inputs, "key"),
    etag: "0",
    versionId: "1",
  }),
  "aws:s3/bucketPolicy:BucketPolicy": named,
  "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": named,
  "aws:s3/bucketVersioning:BucketVersioning": named,
  "random:index/randomBytes:RandomBytes": ({ name, inputs }) => {
    const bytes = Buffer.alloc(Number(inputs["length"] ?? 32));
    return { id: name, base64: bytes.toString("base64"), hex: bytes.toString("hex") };
  },
  "random:index/randomId:RandomId": ({ name }) => ({ id: name, hex: "00000000", dec: "0", b64Url: "AAAAAA" }),
  "command:local:Command": ({ name }) => ({ id: name, stdout: "", stderr: "" }),
  "pulumi-nodejs:dynamic:Resource": named,
};

/** @throws Error where nobody has said what AWS computes of this type */
export function attributesOf(type: string, name: string, inputs: JsonObject, place: Place): Attributes {
  if (type.startsWith("pulumi:providers:")) return { id: name };
  const computed = COMPUTED[type];
  if (computed === undefined)
    throw new Error(
      `no attributes are known of ${type} (${name}): add what AWS computes of it to attributes.ts`,
    );
  return computed({ name, inputs }, place);
}

function named({ name }: { readonly name: string }): Attributes {
  return { id: idOf(name) };
}

function bucket(
  { name, inputs }: { readonly name: string; readonly inputs: JsonObject },
  place: Place,
): Attributes {
  const own = optional(inputs, "bucket") ?? name.toLowerCase();
  return {
    id: own,
    bucket: own,
    arn: `arn:aws:s3:::${own}`,
    bucketDomainName: `${own}.s3.amazonaws.com`,
    bucketRegionalDomainName: `${own}.s3.${place.region}.amazonaws.com`,
    region: place.region,
  };
}

/** An id as AWS makes it up, the same each time. */
function idOf(name: string): string {
  return name.toLowerCase();
}

function arn({ region, account }: Place, service: string, rest: string): string {
  return `arn:aws:${service}:${region}:${account}:${rest}`;
}

/** Of a service that has no regions. */
function globalArn({ account }: Place, service: string, rest: string): string {
  return `arn:aws:${service}::${account}:${rest}`;
}

function optional(inputs: JsonObject, key: string): string | undefined {
  const value: Json | undefined = inputs[key];
  return typeof value === "string" ? value : undefined;
}

/** @throws Error where the program has not named what gives the resource its address */
function text(inputs: JsonObject, key: string): string {
  const value = optional(inputs, key);
  if (value === undefined) throw new Error(`"${key}" is missing: ${JSON.stringify(inputs)}`);
  return value;
}
