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
      providers: { aws: { region: process.env["AWS_REGION"] ?? "us-east-1" } },
    };
  },
  async run() {
    const { ghouls } = await import("./infra/src/index.ts");
    return ghouls(
      { sst, aws },
      {
        config: "packages/workflows/ghouls.config.ts",
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
