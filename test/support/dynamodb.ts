import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { DynamoDB } from "@aws-sdk/client-dynamodb";
import dynalite from "dynalite";
import { afterAll } from "vitest";
import {
  openDynamoEvents,
  openDynamoHint,
  type DynamoEvents,
  type DynamoEventsOptions,
  type DynamoHint,
} from "@ghouls/aws";
import { identityCodec, noFaults, type FaultInjector } from "@ghouls/core";
import { CREDENTIALS } from "./queue.ts";
import { until } from "./wait.ts";

/** What the server does with a call: carries it out, refuses it as DynamoDB does, or never answers. */
type Mode = "up" | "throttled" | "silent";

/** A DynamoDB server of the test file's own, with an empty events table. */
export interface TestDynamo {
  readonly endpoint: string;
  readonly table: string;
  /** A hint that waits long for an answer, but not for one that never comes. */
  open(faults?: FaultInjector): DynamoHint;
  /** The events of runs, for some minutes. */
  events(options?: Partial<DynamoEventsOptions>): DynamoEvents;
  /** Of the calls with this name only, such as "UpdateItem", where one is given. */
  be(mode: Mode, call?: string): void;
  /** Names of the calls that have come so far. */
  readonly calls: readonly string[];
  /** The hint as it is stored, numbers as numbers. */
  item(): Promise<Record<string, number | string> | undefined>;
  /** Puts the hint into any state. */
  put(attributes: Readonly<Record<string, number | string>>): Promise<void>;
  forget(): Promise<void>;
}

const KEY = { pk: { S: "reconciler" }, sk: { S: "hint" } };

export async function testDynamo(): Promise<TestDynamo> {
  const inner = dynalite({ createTableMs: 0 });
  const calls: string[] = [];
  let mode: Mode = "up";
  let hit: string | undefined;
  const server = createServer((request, response) => {
    const call = String(request.headers["x-amz-target"]).split(".").at(-1) ?? "";
    const direct = request.headers["x-by-the-test"] !== undefined;
    if (!direct) calls.push(call);
    if (direct || mode === "up" || (hit !== undefined && hit !== call)) {
      inner.emit("request", request, response);
    } else if (mode === "throttled") {
      response.writeHead(400, { "content-type": "application/x-amz-json-1.0" });
      response.end(
        JSON.stringify({
          __type: "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
          message: "too much",
        }),
      );
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new DynamoDB({ region: "us-east-1", endpoint, credentials: CREDENTIALS });
  client.middlewareStack.add(
    (next) => (args) => {
      (args.request as { headers: Record<string, string> }).headers["x-by-the-test"] = "1";
      return next(args);
    },
    { step: "build" },
  );
  const table = "events";
  await client.createTable({
    TableName: table,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: ["pk", "sk"].map((AttributeName) => ({ AttributeName, AttributeType: "S" })),
    KeySchema: [
      { AttributeName: "pk", KeyType: "HASH" },
      { AttributeName: "sk", KeyType: "RANGE" },
    ],
  });
  await until("the table", async () => {
    const { Table } = await client.describeTable({ TableName: table });
    return Table?.TableStatus === "ACTIVE";
  });
  const opened: { close(): void }[] = [];
  afterAll(async () => {
    for (const hint of opened) hint.close();
    client.destroy();
    server.closeAllConnections();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  });
  return {
    endpoint,
    table,
    calls,
    open: (faults = noFaults) => {
      const [patient, hasty] = [60_000, 300].map((requestTimeoutMs) =>
        openDynamoHint({
          region: "us-east-1",
          endpoint,
          credentials: CREDENTIALS,
          table,
          faults,
          connectionTimeoutMs: 60_000,
          requestTimeoutMs,
          maxAttempts: 1,
        }),
      ) as [DynamoHint, DynamoHint];
      opened.push(patient, hasty);
      const by = (call: string) =>
        mode === "silent" && (hit === undefined || hit === call) ? hasty : patient;
      return {
        keeps: true,
        read: () => by("GetItem").read(),
        lower: (...values) => by("UpdateItem").lower(...values),
        raise: (...values) => by("UpdateItem").raise(...values),
        close: () => {
          for (const one of [patient, hasty]) one.close();
        },
      };
    },
    events: (options = {}) => {
      const made = openDynamoEvents({
        region: "us-east-1",
        endpoint,
        credentials: CREDENTIALS,
        table,
        keepMs: 600_000,
        codec: identityCodec,
        clock: { monotonicMs: () => performance.now(), wallMs: () => Date.now() },
        faults: noFaults,
        connectionTimeoutMs: 60_000,
        requestTimeoutMs: 60_000,
        ...options,
      });
      opened.push(made);
      return made;
    },
    be: (next, call) => {
      mode = next;
      hit = call;
    },
    item: async () => {
      const { Item } = await client.getItem({ TableName: table, Key: KEY, ConsistentRead: true });
      if (Item === undefined) return undefined;
      return Object.fromEntries(
        Object.entries(Item).flatMap(([name, value]): [string, number | string][] =>
          name in KEY ? [] : [[name, value.N === undefined ? String(value.S) : Number(value.N)]],
        ),
      );
    },
    put: async (attributes) => {
      const values = Object.entries(attributes).map(([name, value]) => [
        name,
        typeof value === "number" ? { N: String(value) } : { S: value },
      ]);
      await client.putItem({ TableName: table, Item: { ...KEY, ...Object.fromEntries(values) } });
    },
    forget: async () => {
      await client.deleteItem({ TableName: table, Key: KEY });
    },
  };
}
