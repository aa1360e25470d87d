import { ApiGatewayV2 } from "@aws-sdk/client-apigatewayv2";
import { CloudWatch } from "@aws-sdk/client-cloudwatch";
import { CloudWatchLogs } from "@aws-sdk/client-cloudwatch-logs";
import { DynamoDB } from "@aws-sdk/client-dynamodb";
import { IAM } from "@aws-sdk/client-iam";
import { Lambda } from "@aws-sdk/client-lambda";
import { S3 } from "@aws-sdk/client-s3";
import { Scheduler } from "@aws-sdk/client-scheduler";
import { SecretsManager } from "@aws-sdk/client-secrets-manager";
import { SQS } from "@aws-sdk/client-sqs";

/** One client for each service of the graph, all at one endpoint. */
export interface Clients {
  /** Where all of them ask. */
  readonly url: string;
  readonly http: ApiGatewayV2;
  readonly metrics: CloudWatch;
  readonly logs: CloudWatchLogs;
  readonly tables: DynamoDB;
  readonly iam: IAM;
  readonly lambda: Lambda;
  readonly scheduler: Scheduler;
  readonly secrets: SecretsManager;
  readonly s3: S3;
  readonly sqs: SQS;
  destroy(): void;
}

/** Where the emulator is. Its credentials are any. */
export interface Endpoint {
  readonly url: string;
  readonly region: string;
}

export function openClients({ url, region }: Endpoint): Clients {
  const settings = {
    endpoint: url,
    region,
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
    maxAttempts: 3,
  };
  const clients = {
    http: new ApiGatewayV2(settings),
    metrics: new CloudWatch(settings),
    logs: new CloudWatchLogs(settings),
    tables: new DynamoDB(settings),
    iam: new IAM(settings),
    lambda: new Lambda(settings),
    scheduler: new Scheduler(settings),
    secrets: new SecretsManager(settings),
    s3: new S3({ ...settings, forcePathStyle: true }),
    // A queue's URL names a host of the emulator's own, which need not resolve.
    sqs: new SQS({ ...settings, useQueueUrlAsEndpoint: false }),
  };
  return { ...clients, url, destroy: () => Object.values(clients).forEach((client) => client.destroy()) };
}
