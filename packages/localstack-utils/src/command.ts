import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { openClients } from "./clients.ts";
import { readLogs } from "./logs.ts";
import { readStack } from "./stack-file.ts";
import { down, up, type StackOptions } from "./stack.ts";

/** `npm run aws:up|down|logs`: this repository's infrastructure on a LocalStack-compatible endpoint. */

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const USAGE = `usage: npm run aws:up | aws:down | aws:logs [-- --stage <name>]

  AWS_ENDPOINT_URL                 where the emulator listens; http://127.0.0.1:4566 by default
  DATABASE_URL                     for aws:up, as the functions see it: the application's role
  GHOULS_MIGRATION_DATABASE_URL    for aws:up, as the functions see it: the role that owns the schema
`;

async function main(argv: readonly string[]): Promise<number> {
  const { positionals, values } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: { stage: { type: "string", default: "local" } },
  });
  const { stage } = values;
  const options: StackOptions = {
    root: ROOT,
    stage,
    endpoint: (process.env["AWS_ENDPOINT_URL"] ?? "http://127.0.0.1:4566").replace(/\/$/, ""),
    region: process.env["AWS_REGION"] ?? "us-east-1",
    stateFile: join(ROOT, ".ghouls", `aws-${stage}.json`),
  };
  switch (positionals[0]) {
    case "up": {
      const stack = await up({
        ...options,
        databaseUrl: given("DATABASE_URL"),
        migrationDatabaseUrl: given("GHOULS_MIGRATION_DATABASE_URL"),
      });
      say(`${stack.made.length} resources stand at ${options.endpoint}. The API: ${stack.apiUrl}`);
      return 0;
    }
    case "down":
      say(`${await down(options)} resources are gone from ${options.endpoint}.`);
      return 0;
    case "logs":
      await logs(options);
      return 0;
    case undefined:
    default:
      process.stderr.write(USAGE);
      return 2;
  }
}

async function logs({ stateFile, region, stage }: StackOptions): Promise<void> {
  const state = await readStack(stateFile);
  if (state === undefined) throw new Error(`stage ${stage} does not stand anywhere: npm run aws:up`);
  const clients = openClients({ url: state.endpoint, region });
  try {
    for await (const { group, at, text } of readLogs(state.made, clients)) {
      say(`${new Date(at).toISOString()} ${group} ${text}`);
    }
  } finally {
    clients.destroy();
  }
}

function given(name: string): string {
  const value = process.env[name];
  if (value !== undefined && value !== "") return value;
  throw new Error(`${name} is not set.\n\n${USAGE}`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
