import type { AttributeValue, DynamoDB, UpdateItemCommandInput } from "@aws-sdk/client-dynamodb";
import type { FaultInjector, HintState, WakeHint } from "@ghouls/core";
import type { AwsConnection } from "./connection.ts";
import { connectDynamo } from "./dynamodb.ts";

export interface DynamoHintOptions extends AwsConnection {
  /** The events table; its keys are the strings `pk` and `sk`. */
  readonly table: string;
  readonly faults: FaultInjector;
}

/** The wake hint over a client of its own, made at the first call. `close` ends its connections. */
export interface DynamoHint extends WakeHint {
  close(): void;
}

/** One item for the whole installation. Without the table's TTL attribute: it must not go by itself. */
const KEY = { pk: { S: "reconciler" }, sk: { S: "hint" } };

/** A raise may come between the two halves of a lowering, and the next reconciler's after it; more is not met. */
const LOWERING_ROUNDS = 3;

export function openDynamoHint(options: DynamoHintOptions): DynamoHint {
  const { table: TableName, faults } = options;
  let client: Promise<DynamoDB> | undefined;
  const api = (): Promise<DynamoDB> => (client ??= connectDynamo(options));

  /** False where the condition does not hold. */
  const updateIf = async (
    update: Omit<UpdateItemCommandInput, "TableName" | "Key" | "ExpressionAttributeValues">,
    values: Readonly<Record<string, number>>,
  ): Promise<boolean> => {
    const numbers = Object.entries(values).map(([name, value]) => [name, { N: String(value) }] as const);
    try {
      const dynamo = await api();
      await dynamo.updateItem({
        TableName,
        Key: KEY,
        ...update,
        ExpressionAttributeValues: Object.fromEntries(numbers),
      });
      return true;
    } catch (error) {
      if (error instanceof Error && error.name === "ConditionalCheckFailedException") return false;
      throw error;
    }
  };

  return {
    keeps: true,
    read: async () => {
      await faults("hint.before-read", TableName);
      const dynamo = await api();
      const { Item } = await dynamo.getItem({ TableName, Key: KEY, ConsistentRead: true });
      await faults("hint.after-read", TableName);
      return Item === undefined ? undefined : stateOf(Item);
    },
    lower: async (nowMs, dueAtMs) => {
      await faults("hint.before-lower", TableName);
      await lowerWith(updateIf, nowMs, dueAtMs);
      await faults("hint.after-lower", TableName);
    },
    raise: async (version, nowMs, dueAtMs) => {
      await faults("hint.before-raise", TableName);
      const raised = await raiseWith(updateIf, version, nowMs, dueAtMs);
      await faults("hint.after-raise", TableName);
      return raised;
    },
    close: () => {
      void client?.then((dynamo) => dynamo.destroy());
      client = undefined;
    },
  };
}

type UpdateIf = (
  update: { readonly UpdateExpression: string; readonly ConditionExpression: string },
  values: Readonly<Record<string, number>>,
) => Promise<boolean>;

/**
 * The smaller of two times needs two conditional updates: DynamoDB knows no minimum. Either moves version and opened_at, so
 * that no raise that was decided before comes after. A new item's version begins with the time: an item that was deleted
 * and written again is not mistaken for the old one.
 */
async function lowerWith(updateIf: UpdateIf, nowMs: number, dueAtMs: number): Promise<void> {
  const moved = "opened_at = :now, version = if_not_exists(version, :now) + :one";
  for (let round = 1; round <= LOWERING_ROUNDS; round += 1) {
    const values = { ":now": nowMs, ":one": 1, ":due": dueAtMs };
    const stays = await updateIf(
      { UpdateExpression: `SET ${moved}`, ConditionExpression: "due_at <= :due" },
      values,
    );
    if (stays) return;
    const lowered = await updateIf(
      {
        UpdateExpression: `SET due_at = :due, ${moved}`,
        ConditionExpression: "attribute_not_exists(due_at) OR due_at > :due",
      },
      values,
    );
    if (lowered) return;
  }
  throw new Error(`the hint moved under each of ${LOWERING_ROUNDS} tries to lower it`);
}

/** `connected_at` is for people: when a reconciler last looked and found nothing open. */
function raiseWith(
  updateIf: UpdateIf,
  version: number | undefined,
  nowMs: number,
  dueAtMs: number,
): Promise<boolean> {
  const raised = "due_at = :due, connected_at = :now";
  if (version === undefined) {
    return updateIf(
      { UpdateExpression: `SET ${raised}, version = :now`, ConditionExpression: "attribute_not_exists(pk)" },
      { ":due": dueAtMs, ":now": nowMs },
    );
  }
  return updateIf(
    { UpdateExpression: `SET ${raised}`, ConditionExpression: "version = :version" },
    { ":due": dueAtMs, ":now": nowMs, ":version": version },
  );
}

/** @throws TypeError for an item that is not ours: better a look too many than one that never comes */
function stateOf(item: Readonly<Record<string, AttributeValue>>): HintState {
  const number = (name: string): number | undefined => {
    const value = item[name];
    if (value === undefined) return undefined;
    const parsed = Number(value.N);
    if (!Number.isSafeInteger(parsed)) throw new TypeError(`the hint's ${name} is no whole number`);
    return parsed;
  };
  const [version, dueAtMs] = [number("version"), number("due_at")];
  if (version === undefined || dueAtMs === undefined) throw new TypeError("the hint is incomplete");
  return { version, dueAtMs, openedAtMs: number("opened_at") };
}
