import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Expected } from "./checks/check.ts";
import { IN_VPC, expectedOf } from "./expected.ts";
import { ROOT, configOf, createRepositoryProject } from "./project.ts";
import { type Graph, recordGraph } from "@ghouls/localstack-utils";

/** A deployment of this repository's examples, and what it must be. */
export interface Variant {
  readonly stage: string;
  /** What \`sst dev\` would register. */
  readonly dev?: boolean;
  /** Text of its sst.config.ts. */
  readonly config: string;
  /** Builds its functions itself, as it is usual; the others deploy the build that they are given. */
  readonly builds?: boolean;
  /** Files of the project's own. */
  readonly files?: Readonly<Record<string, string>>;
  readonly expected: Expected;
}

const SECRET = "arn:aws:secretsmanager:us-east-1:123456789012:secret:ghouls";
const KEY = "arn:aws:kms:us-east-1:123456789012:key/1";
const TOPIC = "arn:aws:sns:us-east-1:123456789012:wake";
const SENDER = "arn:aws:iam::123456789012:role/shop";
const user = (name: string) => `arn:aws:rds-db:us-east-1:123456789012:dbuser:db-1/${name}`;

/** What the root's sst.config.ts reads, and two connection strings that it must not hand to any function. */
export const ENVIRONMENT = {
  GHOULS_DATABASE_SECRET_ARN: `${SECRET}/application-AbCdEf`,
  GHOULS_MIGRATION_DATABASE_SECRET_ARN: `${SECRET}/migrator-AbCdEf`,
  DATABASE_URL: "postgres://app:a-password-of-the-application@db.example:5432/app",
  GHOULS_MIGRATION_DATABASE_URL: "postgres://owner:a-password-of-the-migrator@db.example:5432/app",
};

const reads = (name: string) => `secretsmanager:GetSecretValue on ${SECRET}/${name}-AbCdEf`;
const SECRETS = { application: [reads("application")], migrator: [reads("migrator")] };

/** Of the root. */
const CONFIG = readFileSync(join(ROOT, "sst.config.ts"), "utf8");

function configWith(options: object): string {
  const given = JSON.stringify({ config: "packages/workflows/ghouls.config.ts", ...options });
  return configOf(
    `const { ghouls } = await import("./infra/src/index.ts");
    return ghouls({ sst, aws }, { ...${given}, built: process.env["GHOULS_BUILT"] });`,
    { removal: "remove" },
  );
}

const ACCOUNT = "us-east-1:123456789012";
const MACHINE = `arn:aws:states:${ACCOUNT}:stateMachine:dig`;

/** A configuration with a service of its own, and a state machine. */
export const WITH_SERVICES = {
  "own/ghouls.config.ts": `import { defineConfig, stepFunctionsService } from "ghouls";
import * as z from "zod";
const answers = async () => ({ state: "running" as const });
const signer = {
  adapter: "own", version: "1", identity: {}, request: z.unknown(), result: z.unknown(),
  traits: { lookup: "authoritative", submit: "idempotent", cancel: "final", delaySeconds: 0 } as const,
  times: { timeoutMs: 5_000, pollMs: null, heartbeatMs: null },
  submit: answers, lookUp: answers, cancel: answers,
};
const digger = stepFunctionsService({ stateMachine: "${MACHINE}", request: z.unknown(), result: z.unknown() });
export default defineConfig({ workflows: [], services: { signer, digger } });
`,
};
/** A configuration with a queue that processes serve. */
export const WITH_A_PROCESS = `import { defineConfig } from "ghouls";
export default defineConfig({ workflows: [], queues: { runs: {}, long: { worker: "process" } } });
`;
/** What asking the machine needs, and no more. */
const describesAndStops = `states:DescribeExecution, states:StopExecution on arn:aws:states:${ACCOUNT}:execution:dig:ghouls-*`;
const DIGGER = {
  given: [`states:DescribeStateMachine, states:StartExecution on ${MACHINE}`, describesAndStops],
  patterns: {
    [describesAndStops]: "executions are named after the jobs that they are; others' are left out",
  },
};
/** A deployment of that. */
function ownConfigWith(options: object): string {
  const database = {
    secret: `${SECRET}/application-AbCdEf`,
    migrationSecret: `${SECRET}/migrator-AbCdEf`,
  };
  return configWith({ config: "own/ghouls.config.ts", database, ...options });
}
const SIGNER = `${SECRET}/signer-AbCdEf`;
const asksSigner = { actions: ["secretsmanager:GetSecretValue"], resources: [SIGNER] };

const subnets = ["subnet-1", "subnet-2"];
const securityGroups = ["sg-1"];

/** The examples have a service: the one that signs. */
const EXAMPLES = { services: { given: [] } };

/** What a deployment without services is checked against. */
export const WITHOUT_SERVICES = expectedOf(SECRETS);

export const VARIANTS = {
  test: { stage: "test", builds: true, config: CONFIG, expected: expectedOf(SECRETS, EXAMPLES) },
  /** SST's own live functions would be trusted by the whole account, and may do anything with AppSync. */
  dev: { stage: "test", dev: true, config: CONFIG, expected: expectedOf(SECRETS, EXAMPLES) },
  production: { stage: "production", config: CONFIG, expected: expectedOf(SECRETS, EXAMPLES) },
  /** In a VPC without a way to the internet, with all else that can be set. */
  vpc: {
    stage: "test",
    config: configWith({
      database: {
        secret: `${SECRET}/application-AbCdEf`,
        migrationSecret: `${SECRET}/migrator-AbCdEf`,
        key: KEY,
        maxConnections: 500,
      },
      vpc: { id: "vpc-1", subnets, securityGroups, routeTables: ["rtb-1"] },
      concurrency: { account: 120, reserved: { admission: 5 } },
      alarms: { topic: TOPIC },
      logDays: 14,
    }),
    expected: {
      ...expectedOf(
        {
          application: [...SECRETS.application, `kms:Decrypt on ${KEY}`],
          migrator: [...SECRETS.migrator, `kms:Decrypt on ${KEY}`],
          all: IN_VPC,
        },
        EXAMPLES,
      ),
      reserved: { GhoulsAdmission: 5 },
      vpc: {
        id: "vpc-1",
        subnets,
        securityGroups,
        routeTables: ["rtb-1"],
        interfaces: ["secretsmanager", "sqs", "lambda"],
        gateways: ["dynamodb", "s3"],
        outside: ["GhoulsEgress"],
      },
      topic: TOPIC,
      logDays: 14,
    },
  },
  /** RDS tokens instead of passwords, a NAT instead of endpoints, and an application that publishes itself. */
  iam: {
    stage: "test",
    config: configWith({
      database: {
        iam: {
          application: { url: "postgres://ghouls_app@db.example/app", user: user("ghouls_app") },
          migrator: { url: "postgres://ghouls_migrator@db.example/app", user: user("ghouls_migrator") },
        },
      },
      vpc: { id: "vpc-1", subnets, securityGroups, endpoints: false },
      senders: [SENDER],
    }),
    expected: {
      ...expectedOf(
        {
          application: [`rds-db:connect on ${user("ghouls_app")}`],
          migrator: [`rds-db:connect on ${user("ghouls_migrator")}`],
          all: IN_VPC,
        },
        { senders: [SENDER], ...EXAMPLES },
      ),
      vpc: {
        id: "vpc-1",
        subnets,
        securityGroups,
        routeTables: [],
        interfaces: [],
        gateways: [],
        outside: ["GhoulsEgress"],
      },
    },
  },
  /** With a service, and what its adapter needs. */
  services: {
    stage: "test",
    builds: true,
    files: WITH_SERVICES,
    config: ownConfigWith({
      egress: { environment: { SIGNER_REGION: "eu" }, permissions: [asksSigner] },
    }),
    expected: expectedOf(SECRETS, {
      services: { ...DIGGER, given: [reads("signer"), ...DIGGER.given] },
      workflows: false,
    }),
  },
  /** With a service, in a VPC without a way to the internet: the egress function stays outside. */
  servicesInVpc: {
    stage: "test",
    builds: true,
    files: WITH_SERVICES,
    config: ownConfigWith({
      vpc: { id: "vpc-1", subnets, securityGroups, routeTables: ["rtb-1"] },
    }),
    expected: {
      ...expectedOf({ ...SECRETS, all: IN_VPC }, { services: DIGGER, workflows: false }),
      vpc: {
        id: "vpc-1",
        subnets,
        securityGroups,
        routeTables: ["rtb-1"],
        interfaces: ["secretsmanager", "sqs", "lambda"],
        gateways: ["dynamodb", "s3"],
        outside: ["GhoulsEgress"],
      },
    },
  },
} as const satisfies Readonly<Record<string, Variant>>;

export type VariantName = keyof typeof VARIANTS;

/**
 * Records a variant in a folder of its own.
 * @param built folder of a build of the examples
 */
export async function recordVariant(variant: Variant, built: string): Promise<Graph> {
  const { config, stage, dev = false, builds = false, files = {} } = variant;
  const project = createRepositoryProject(config);
  for (const [path, text] of Object.entries(files)) project.write(path, text);
  const env = builds ? ENVIRONMENT : { ...ENVIRONMENT, GHOULS_BUILT: built };
  try {
    return await recordGraph({ root: project.root, stage, dev, env });
  } finally {
    project.remove();
  }
}
