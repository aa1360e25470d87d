/// <reference path="./.sst/platform/config.d.ts" />

/** Deploys the example workflows of this repository: `npx sst deploy --stage <name>`. */
export default $config({
  app(input) {
    const production = input.stage === "production";
    return {
      name: "ghouls",
      home: "aws",
      removal: production ? "retain" : "remove",
      protect: production,
      providers: { aws: { region: process.env["AWS_REGION"] ?? "us-east-1", ...emulator() } },
    };
  },
  async run() {
    const { ghouls } = await import("./infra/src/index.ts");
    return ghouls(
      { sst, aws },
      {
        config: "packages/workflows/ghouls.config.ts",
        // Built once, and deployed to every stage: `npx ghouls build --out <folder>`.
        built: process.env["GHOULS_BUILT"],
        database: {
          secret: given("GHOULS_DATABASE_SECRET_ARN"),
          migrationSecret: given("GHOULS_MIGRATION_DATABASE_SECRET_ARN"),
        },
      },
    );
  },
});

function given(name: string): string {
  const value = process.env[name];
  if (value !== undefined && value !== "") return value;
  throw new Error(
    `${name} is not set: the ARN of a secret of Secrets Manager that holds a connection string.`,
  );
}

/**
 * Where AWS_ENDPOINT_URL names an emulator: its address for every service of the graph. The command drops booleans of a
 * provider's settings without a word, so they are written as texts.
 */
function emulator(): object {
  const endpoint = process.env["AWS_ENDPOINT_URL"];
  if (endpoint === undefined || endpoint === "") return {};
  const services = [
    "apigatewayv2",
    "cloudwatch",
    "dynamodb",
    "ec2",
    "iam",
    "lambda",
    "logs",
    "s3",
    "scheduler",
    "secretsmanager",
    "sqs",
    "sts",
  ];
  return {
    accessKey: "test",
    secretKey: "test",
    skipCredentialsValidation: "true",
    skipMetadataApiCheck: "true",
    skipRequestingAccountId: "true",
    s3UsePathStyle: "true",
    endpoints: [Object.fromEntries(services.map((service) => [service, endpoint]))],
  };
}
