import { afterAll, beforeAll, inject } from "vitest";
import { createClient } from "@ghouls/client";
import { createRoles, openLedger } from "@ghouls/ledger";
import {
  down,
  openClients,
  readLogs,
  up,
  type Clients,
  type Stack,
  type StackOptions,
  type UpOptions,
} from "@ghouls/localstack-utils";
import type { wire } from "@ghouls/core";
import { testCluster, type Cluster } from "../support/cluster.ts";
import { APPLICATION, MIGRATOR } from "../support/template.ts";
import { until } from "../support/wait.ts";
import { createRepositoryProject, type Project } from "../infra/project.ts";
import { SST_CONFIG, TOKEN, writeFirst } from "./deployed-project.ts";

/** This repository's functions on an emulator, over a PostgreSQL of the test's own. */
export interface Cloud {
  readonly stack: Stack;
  readonly clients: Clients;
  readonly project: Project;
  readonly cluster: Cluster;
  /** Rows of the deployed ledger, as the superuser. */
  rows<R extends object>(text: string, values?: unknown[]): Promise<R[]>;
  /** Deploys once more, after a change of the project; waits for what is done as each resource stands. */
  deploy(onMade?: UpOptions["onMade"]): Promise<Stack>;
  /** Waits until a statement finds a row. */
  seen(text: string, values: unknown[]): Promise<void>;
  /** What the endpoint calls a function of the graph. */
  nameOf(name: string): string;
  /** Digest of the code that a function has. */
  codeOf(name: string): Promise<string>;
  takeDown(): Promise<number>;
  submit(workflow: string, input: unknown, extra?: object): Promise<wire.Admitted>;
  ask(
    method: string,
    path: string,
    body?: unknown,
    token?: string,
  ): Promise<{ status: number; body: unknown }>;
  /** The events of a run, by the URL of the function that streams. */
  follow(url: string, runId: string): Promise<wire.RunEvent[]>;
  /** Where the role connects that owns the schema. */
  readonly migratorUrl: string;
  /** Waits until a run has this status. */
  ended(runId: string, status: string): Promise<wire.RunView>;
  /** Takes the message of a run out of its queue, as if SQS had lost it. */
  lose(queue: string, runId: string): Promise<void>;
  logs(): ReturnType<typeof readLogs>;
  /** The checks of the doctor that fail. */
  doctor(): Promise<unknown[]>;
  /** Lets the queues' messages reach their workers, or keeps them back. */
  feed(enabled: boolean): Promise<void>;
}

const REGION = "us-east-1";

/** @param environment of sst.config.ts, read before each deploy */
export function deployedCloud(environment: () => Readonly<Record<string, string>>): Cloud {
  let cluster: Cluster;
  let project: Project;
  let stack: Stack;
  let options: StackOptions;
  let query: Cloud["rows"];
  const endpoint = inject("emulator") ?? "";
  const clients = openClients({ url: endpoint, region: REGION });

  const urlOf = ({ name, password }: { name: string; password: string }) =>
    `postgres://${name}:${password}@${cluster.host}:${cluster.port}/deployed`;

  const deploy: Cloud["deploy"] = async (onMade) => {
    stack = await up({
      ...options,
      databaseUrl: urlOf(APPLICATION),
      migrationDatabaseUrl: urlOf(MIGRATOR),
      env: environment(),
      ...(onMade === undefined ? {} : { onMade }),
    });
    return stack;
  };

  beforeAll(async () => {
    cluster = await testCluster();
    query = await emptyDatabase(cluster);
    project = createRepositoryProject(SST_CONFIG);
    writeFirst(project);
    options = {
      root: project.root,
      stage: "cloud",
      endpoint,
      region: REGION,
      stateFile: `${project.root}/.ghouls/aws.json`,
    };
    await deploy();
  });
  afterAll(async () => {
    if (options !== undefined) await down(options);
    clients.destroy();
    project?.remove();
  });

  const nameOf: Cloud["nameOf"] = (name) =>
    stack.made.find(({ urn }) => urn.endsWith(`::${name}`))?.keys["name"] ?? "";

  const ask: Cloud["ask"] = async (method, path, body, token = TOKEN) => {
    const answer = await fetch(`${stack.apiUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? undefined : JSON.parse(text) };
  };

  return {
    get stack() {
      return stack;
    },
    get project() {
      return project;
    },
    get cluster() {
      return cluster;
    },
    get migratorUrl() {
      return urlOf(MIGRATOR);
    },
    clients,
    rows: (text, values) => query(text, values),
    deploy,
    seen: async (text, values) => {
      await until(text, async () => (await query(text, values)).length > 0);
    },
    nameOf,
    codeOf: async (name) => {
      const { Configuration } = await clients.lambda.getFunction({ FunctionName: nameOf(name) });
      return Configuration?.CodeSha256 ?? "";
    },
    takeDown: () => down(options),
    ask,
    submit: async (workflow, input, extra = {}) => {
      const { status, body } = await ask("POST", "/v1/runs", { workflow, input, ...extra });
      if (status !== 202) throw new Error(`admission answered ${status}: ${JSON.stringify(body)}`);
      return body as wire.Admitted;
    },
    ended: async (runId, status) =>
      until(
        `run ${runId} ${status}`,
        async () => {
          const { body } = await ask("GET", `/v1/runs/${runId}`);
          const view = body as wire.RunView;
          if (view.status === status) return view;
          if (["DONE", "FAILED", "CANCELLED"].includes(view.status)) {
            throw new Error(`run ${runId} is ${view.status}: ${JSON.stringify(view.error)}`);
          }
          return undefined;
        },
        // Some minutes of the reconciler, on a slow machine.
        500_000,
        // Each question is a function's invocation.
        250,
      ),
    follow: async (url, runId) => {
      // The emulator takes the first part of the URL's host in a path, since nobody resolves the host.
      const eventsUrl = `${endpoint}/_aws/lambda-url/${new URL(url).hostname.split(".")[0]}`;
      const client = createClient({ baseUrl: stack.apiUrl, eventsUrl, token: TOKEN });
      const events: wire.RunEvent[] = [];
      for await (const event of client.run(runId).events()) events.push(event);
      return events;
    },
    lose: async (queue, runId) => {
      const made = stack.made.find(
        ({ type, keys }) => type.endsWith(":Queue") && keys["url"]?.includes(`${pascal(queue)}Queue`),
      );
      const url = made?.keys["url"] ?? "";
      await until(`the message of ${runId} in ${queue}`, async () => {
        const { Messages = [] } = await clients.sqs.receiveMessage({
          QueueUrl: url,
          MaxNumberOfMessages: 10,
        });
        for (const { Body, ReceiptHandle } of Messages) {
          if (Body?.includes(runId) !== true) continue;
          await clients.sqs.deleteMessage({ QueueUrl: url, ReceiptHandle });
          return true;
        }
        return false;
      });
    },
    logs: () => readLogs(stack.made, clients),
    doctor: async () => {
      const ledger = openLedger({ connectionString: urlOf(APPLICATION), maxConnections: 1 });
      try {
        return (await ledger.doctor()).filter(({ ok }) => !ok);
      } finally {
        await ledger.close();
      }
    },
    feed: async (enabled) => {
      const mappings = stack.made.filter(({ type }) => type.includes("eventSourceMapping"));
      for (const { keys } of mappings) {
        await clients.lambda.updateEventSourceMapping({ UUID: keys["uuid"] ?? "", Enabled: enabled });
      }
    },
  };
}

/** "runs" as it stands in the name of its queue: "GhoulsQueueRuns". */
function pascal(queue: string): string {
  return `GhoulsQueue${queue.charAt(0).toUpperCase()}${queue.slice(1)}`;
}

/** A database with the two roles and nothing else: the deploy itself migrates it. */
async function emptyDatabase({ db }: Cluster): Promise<Cloud["rows"]> {
  await db.admin("create database deployed");
  const url = new URL(db.adminUrl);
  url.pathname = "/deployed";
  await createRoles(url.href, { schema: "ghouls", migrator: MIGRATOR, application: APPLICATION });
  const pg = await import("pg");
  const pool = new pg.default.Pool({ connectionString: url.href, max: 2 });
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  afterAll(() => pool.end());
  return async (text, values = []) => (await pool.query(text, values)).rows as never;
}
