import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Clients } from "../clients.ts";
import type { Graph, JsonObject } from "../record/graph.ts";
import { readStack, writeStack } from "../stack-file.ts";
import { down } from "../stack.ts";
import type { Made } from "./applier.ts";
import { applyGraph, NotRemoved, removeMade } from "./apply.ts";

const graphOf = (type: string, inputs: JsonObject, stage = "a"): Graph => ({
  app: { name: "crypt", stage, removal: "remove", home: "aws", providers: {} },
  resources: [
    {
      urn: `urn:${stage}:${type}`,
      type,
      name: "x",
      custom: true,
      dependsOn: [],
      inputs,
      secrets: [],
      state: {},
    },
  ],
  calls: [],
  rpc: [],
  outputs: {},
});
const refuse = (name: string) => () => Promise.reject(Object.assign(new Error(name), { name }));

/** An endpoint at which the first call of each resource succeeds, and the second one as it is told. */
function endpoint(second: () => Promise<unknown>) {
  const there = new Set<string>();
  const add = (what: string) => () => Promise.resolve(void there.add(what));
  const remove = (what: string) => () => Promise.resolve(void there.delete(what));
  const clients = {
    iam: {
      createRole: add("role"),
      putRolePolicy: second,
      listRolePolicies: () => Promise.resolve({}),
      listAttachedRolePolicies: () => Promise.resolve({}),
      deleteRole: remove("role"),
    },
    tables: { createTable: add("table"), updateTimeToLive: second, deleteTable: remove("table") },
    logs: { createLogGroup: add("log"), putRetentionPolicy: second, deleteLogGroup: remove("log") },
  } as unknown as Clients;
  return { clients, there };
}

const TWO_CALLS: readonly [string, Graph][] = [
  [
    "a role",
    graphOf("aws:iam/role:Role", {
      name: "r",
      assumeRolePolicy: "{}",
      inlinePolicies: [{ name: "p", policy: "{}" }],
    }),
  ],
  [
    "a table",
    graphOf("aws:dynamodb/table:Table", {
      name: "t",
      attributes: [],
      hashKey: "pk",
      rangeKey: "sk",
      ttl: { attributeName: "e" },
    }),
  ],
  ["a log group", graphOf("aws:cloudwatch/logGroup:LogGroup", { name: "l", retentionInDays: 1 })],
];

test.each(TWO_CALLS)(
  "%s whose second call fails is known, and does not stay behind",
  async (_what, graph) => {
    const { clients, there } = endpoint(refuse("Throttling"));
    const made: Made[] = [];
    const options = { clients, root: ".", onMade: (one: Made) => void made.push(one) };
    await expect(applyGraph(graph, options)).rejects.toThrow("Throttling");
    expect(there.size).toBe(1);
    await removeMade(made, clients);
    expect([...there]).toEqual([]);
  },
);

test.each(TWO_CALLS)("%s is finished by the next deploy, and not made twice", async (_what, graph) => {
  const calls: string[] = [];
  const first = endpoint(refuse("Throttling"));
  const earlier: Made[] = [];
  await applyGraph(graph, {
    clients: first.clients,
    root: ".",
    onMade: (one) => void earlier.push(one),
  }).catch(() => undefined);
  const { clients, there } = endpoint(() => Promise.resolve(void calls.push("second")));
  const { made } = await applyGraph(graph, { clients, root: ".", earlier, onMade: () => undefined });
  expect([calls, there.size]).toEqual([["second"], 0]);
  // Whole now: a table's expiry is not set a second time, which DynamoDB refuses.
  expect(made[0]?.keys).not.toHaveProperty("unfinished");
});

/** Log groups of which one cannot be removed. */
function logGroups(...names: readonly string[]) {
  const gone: string[] = [];
  const clients = {
    logs: {
      deleteLogGroup: ({ logGroupName: name }: { logGroupName: string }) =>
        name === "b" ? refuse("InternalError")() : Promise.resolve(void gone.push(name)),
    },
  } as unknown as Clients;
  const made = names.map((name): Made => ({
    urn: name,
    type: "aws:cloudwatch/logGroup:LogGroup",
    keys: { name },
    state: {},
  }));
  return { clients, gone, made };
}

test("one that cannot be removed does not keep the others, and is named", async () => {
  const { clients, gone, made } = logGroups("a", "b", "c");
  const error = await removeMade(made, clients).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(NotRemoved);
  expect(error).toMatchObject({
    left: [{ urn: "b" }],
    message: expect.stringContaining("b: InternalError") as string,
  });
  expect(gone).toEqual(["c", "a"]);
});

test("what is no error and is thrown all the same is told too", async () => {
  const { made } = logGroups("a");
  // oxlint-disable-next-line prefer-promise-reject-errors -- what a careless library does
  const clients = { logs: { deleteLogGroup: () => Promise.reject("words") } } as unknown as Clients;
  await expect(removeMade(made, clients)).rejects.toThrow("a: words");
});

test("down keeps in its file what is left, and nothing else", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ghouls-down-"));
  // Refuses the log group "b", and takes all else.
  const server = createServer((request, response) => {
    request.setEncoding("utf8").once("data", (body: string) => {
      const refused = body.includes('"b"');
      response.writeHead(refused ? 400 : 200, { "content-type": "application/x-amz-json-1.1" });
      response.end(refused ? '{"__type":"OperationAbortedException","message":"busy"}' : "{}");
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });
  const { port } = server.address() as AddressInfo;
  const stateFile = join(folder, "stack.json");
  const state = {
    endpoint: `http://127.0.0.1:${port}`,
    stage: "local",
    secrets: [],
    made: logGroups("a", "b", "c").made,
  };
  await writeStack(stateFile, state);
  const options = { root: folder, stage: "local", endpoint: state.endpoint, region: "us-east-1", stateFile };
  await expect(down(options)).rejects.toThrow("1 resources could not be removed:\nb: busy");
  expect((await readStack(stateFile))?.made.map(({ urn }) => urn)).toEqual(["b"]);
});

test("taking one stage down leaves another stage's alarms", async () => {
  const there = new Set<string>();
  const clients = {
    metrics: {
      putMetricAlarm: ({ AlarmName }: { AlarmName: string }) => Promise.resolve(void there.add(AlarmName)),
      deleteAlarms: ({ AlarmNames }: { AlarmNames: string[] }) =>
        Promise.resolve(AlarmNames.forEach((name) => there.delete(name))),
    },
  } as unknown as Clients;
  const up = (stage: string) =>
    applyGraph(
      graphOf(
        "aws:cloudwatch/metricAlarm:MetricAlarm",
        {
          name: `ghouls-crypt-${stage}-api-failures`,
          alarmDescription: "a",
          namespace: "n",
          metricName: "m",
          statistic: "Sum",
          period: 60,
          evaluationPeriods: 1,
          threshold: 0,
          comparisonOperator: "GreaterThanThreshold",
          treatMissingData: "notBreaching",
        },
        stage,
      ),
      { clients, root: ".", onMade: () => undefined },
    );
  const { made } = await up("a");
  await up("b");
  await removeMade(made, clients);
  expect([...there]).toEqual(["ghouls-crypt-b-api-failures"]);
});
