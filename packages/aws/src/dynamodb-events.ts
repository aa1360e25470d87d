import type { AttributeValue, DynamoDB, WriteRequest } from "@aws-sdk/client-dynamodb";
import {
  END_OF_EVENTS,
  wire,
  type Clock,
  type Codec,
  type EventPlace,
  type EventRecord,
  type EventStore,
  type FaultInjector,
  type RunOfEvents,
} from "@ghouls/core";
import type { AwsConnection } from "./connection.ts";
import { connectDynamo } from "./dynamodb.ts";

export interface DynamoEventsOptions extends AwsConnection {
  /** The events table; its keys are the strings `pk` and `sk`, its time to live is `expires_at`, in seconds. */
  readonly table: string;
  /** How long events are kept, in milliseconds. */
  readonly keepMs: number;
  readonly codec: Codec;
  readonly clock: Clock;
  readonly faults: FaultInjector;
}

/** The events of runs over a client of its own, made at the first call. `close` ends its connections. */
export interface DynamoEvents extends EventStore {
  close(): void;
}

type Item = Record<string, AttributeValue>;

/** Of one BatchWriteItem. Source: Amazon DynamoDB, "BatchWriteItem". */
const BATCH = 25;
/** Records of one page. DynamoDB ends a page at 1 MB by itself. */
const PAGE = 100;
/** Pages of one question in which all has expired. */
const EMPTY_PAGES = 20;

const Events = wire.EventBatch.shape.events;

/** Keys whose order is that of the events: by delivery, what was published before what its hop says, and the end last. */
const PARTS = { published: "0", hop: "1" } as const;
const padded = (number: number): string => String(number).padStart(10, "0");
const sortKey = ({ enqueueSeq, part, first }: Omit<EventRecord, "events">): string =>
  `e#${padded(enqueueSeq)}#${PARTS[part]}#${padded(first)}`;
const END_KEY = "f";
const SORT_KEY = /^e#(\d{10})#([01])#(\d{10})$/;

/** Behind all that was told to whoever stands at a place. A hop that is over says nothing more. */
function keyAfter({ enqueueSeq, stage, number }: EventPlace): string {
  const delivery = `e#${padded(enqueueSeq)}`;
  if (stage === 0) return delivery;
  if (stage === 3) return `${delivery}#2`;
  return number === 0 ? `${delivery}#0#9` : `${delivery}#1#${padded(number)}`;
}

export function openDynamoEvents(options: DynamoEventsOptions): DynamoEvents {
  const { table: TableName, faults, codec, clock, keepMs } = options;
  let client: Promise<DynamoDB> | undefined;
  // Whoever writes tries again by himself, and gives up early.
  const api = (): Promise<DynamoDB> => (client ??= connectDynamo({ maxAttempts: 1, ...options }));

  const itemOf = async (run: RunOfEvents, record: EventRecord | typeof END_OF_EVENTS): Promise<Item> => {
    const expiresAt = Math.ceil((clock.wallMs() + keepMs) / 1_000);
    const item = { pk: { S: partitionOf(run) }, expires_at: { N: String(expiresAt) } };
    if (record === END_OF_EVENTS) return { ...item, sk: { S: END_KEY } };
    const text = await codec.encode(JSON.stringify(record.events), { ...run, kind: "event" });
    const last: Item = record.isLast === true ? { ended: { BOOL: true } } : {};
    return { ...item, sk: { S: sortKey(record) }, events: { S: text }, ...last };
  };

  const recordOf = async (run: RunOfEvents, item: Item): Promise<EventRecord | undefined> => {
    const [, seq, part, first] = SORT_KEY.exec(item["sk"]?.S ?? "") ?? [];
    const text = item["events"]?.S;
    if (seq === undefined || text === undefined) return undefined;
    try {
      const events = Events.parse(JSON.parse(await codec.decode(text, { ...run, kind: "event" })));
      return {
        enqueueSeq: Number(seq),
        part: part === PARTS.published ? "published" : "hop",
        first: Number(first),
        events,
      };
    } catch {
      // One that cannot be read is missing, and its numbers show it.
      return undefined;
    }
  };

  return {
    put: async (run, record) => {
      const dynamo = await api();
      const Item = await itemOf(run, record);
      await faults("events.before-put", partitionOf(run));
      try {
        await dynamo.putItem({ TableName, Item, ConditionExpression: "attribute_not_exists(pk)" });
      } catch (error) {
        // It was taken before, and the answer was lost.
        if (!(error instanceof Error && error.name === "ConditionalCheckFailedException")) throw error;
      }
      await faults("events.after-put", partitionOf(run));
    },

    putMany: async (records) => {
      const dynamo = await api();
      const requests = await Promise.all(
        records.map(async ({ record, ...run }): Promise<WriteRequest> => ({
          PutRequest: { Item: await itemOf(run, record) },
        })),
      );
      await faults("events.before-put", `${requests.length} records`);
      let left = 0;
      for (let from = 0; from < requests.length; from += BATCH) {
        const { UnprocessedItems } = await dynamo.batchWriteItem({
          RequestItems: { [TableName]: requests.slice(from, from + BATCH) },
        });
        left += UnprocessedItems?.[TableName]?.length ?? 0;
      }
      await faults("events.after-put", `${requests.length} records`);
      return left;
    },

    read: async (run, after) => {
      const dynamo = await api();
      const records: EventRecord[] = [];
      let ended = false;
      let from: Item | undefined;
      for (let pages = 1; ; pages += 1) {
        await faults("events.before-read", partitionOf(run));
        const { Items = [], LastEvaluatedKey } = await dynamo.query({
          TableName,
          KeyConditionExpression: "pk = :pk AND sk > :after",
          // What has expired may lie there for days. Source: Amazon DynamoDB, "Time to Live".
          FilterExpression: "expires_at > :now",
          ExpressionAttributeValues: {
            ":pk": { S: partitionOf(run) },
            ":after": { S: keyAfter(after) },
            ":now": { N: String(Math.floor(clock.wallMs() / 1_000)) },
          },
          ConsistentRead: true,
          Limit: PAGE,
          ...(from === undefined ? {} : { ExclusiveStartKey: from }),
        });
        await faults("events.after-read", partitionOf(run));
        const found = await Promise.all(Items.map((item) => recordOf(run, item)));
        records.push(...found.filter((record) => record !== undefined));
        ended ||= Items.some((item) => item["sk"]?.S === END_KEY || item["ended"]?.BOOL === true);
        from = LastEvaluatedKey;
        // A place moves by what was found: a page without anything is no place to go on from.
        if (from === undefined || records.length > 0 || pages === EMPTY_PAGES) break;
      }
      return { records, ended, more: from !== undefined && records.length > 0 };
    },

    close: () => {
      void client?.then((dynamo) => dynamo.destroy());
      client = undefined;
    },
  };
}

/** A run id is a UUID, so a tenant's name may have any character. */
const partitionOf = ({ tenantId, runId }: RunOfEvents): string => `run#${tenantId}#${runId}`;
