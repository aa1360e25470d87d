import { GhoulsError, QueueSettings } from "@ghouls/core";
import { LedgerError } from "@ghouls/ledger";
import { describe, expect, test } from "vitest";
import { ledgerHindrance, queueHindrance } from "./hindrance.ts";
import { queuesOf } from "./order.ts";

const CONFIGURED = {
  runs: QueueSettings.parse({}),
  long: QueueSettings.parse({ worker: "process", batchSize: 3, concurrency: 4 }),
};
const URLS = { queueUrls: { runs: "http://sqs/runs", long: "http://sqs/long" } };
const served = (queues: readonly string[], concurrency: number | null = null, environment = URLS) =>
  queuesOf({ queues, concurrency }, CONFIGURED, environment).map(({ name, atOnce }) => [name, atOnce]);

describe("a worker serves", () => {
  test("the queues that say so, or those that are named", () => {
    expect(served([])).toEqual([["long", 12]]);
    expect(served(["runs"])).toEqual([["runs", 10]]);
    expect(served(["long", "runs"], 7)).toEqual([
      ["runs", 7],
      ["long", 7],
    ]);
  });

  test.each([
    [() => served(["slow"]), 'the configuration has no queue "slow"', "Name one of: runs, long."],
    [
      () => queuesOf({ queues: [], concurrency: null }, { runs: CONFIGURED.runs }, URLS),
      'no queue of the configuration says worker: "process"',
      "Say so in `queues`, or name the queues that this worker serves with --queue: runs.",
    ],
    [
      () => served([], null, { queueUrls: { runs: "x", long: undefined as unknown as string } }),
      'no URL is known of "long"',
      "Set GHOULS_QUEUE_LONG_URL to the URL of the SQS queue.",
    ],
  ])("nothing else, and says what to do (%#)", (refused, message, fix) => {
    expect(refused).toThrow(GhoulsError);
    expect(refused).toThrow(
      expect.objectContaining({ code: "configuration_invalid", message, fix }) as Error,
    );
  });
});

describe("what keeps a worker from its start", () => {
  const named = (name: string) => Object.assign(new Error("a driver's words"), { name });
  const coded = (code: string) => Object.assign(new Error("a driver's words"), { code });

  test.each([
    [ledgerHindrance(new LedgerError("unavailable", "s", undefined, coded("ECONNREFUSED"))), true],
    [ledgerHindrance(new LedgerError("unavailable", "s", "28P01", coded("28P01"))), false],
    [ledgerHindrance(new LedgerError("unavailable", "s", undefined, new Error("?"))), true],
    [ledgerHindrance(new LedgerError("schema", "s", "42P01", coded("42P01"))), false],
    [
      ledgerHindrance(
        new LedgerError("unavailable", "s", undefined, new GhoulsError("internal", "a secret")),
      ),
      true,
    ],
    [ledgerHindrance(new GhoulsError("configuration_invalid", "a capacity")), false],
    [ledgerHindrance("?"), true],
    [queueHindrance("long", named("QueueDoesNotExist")), false],
    [queueHindrance("long", named("CredentialsProviderError")), false],
    [queueHindrance("long", named("AccessDenied")), false],
    [queueHindrance("long", named("TimeoutError")), true],
    [queueHindrance("long", new GhoulsError("configuration_invalid", "no URL", { fix: "Set it." })), false],
    [queueHindrance("long", "?"), true],
  ])("%o passes: %s", (hindrance, passes) => {
    expect(hindrance.passes).toBe(passes);
    expect(hindrance.message).not.toContain("a driver's words");
  });
});
