import { GhoulsError } from "@ghouls/core";
import type { FunctionPlan } from "./functions.ts";
import type { PlanOptions } from "./options.ts";

export interface ConnectionsPlan {
  /** Connections of one execution environment. */
  readonly perEnvironment: number;
  /** Environments at the same time at most, while nothing is deployed. */
  readonly environments: number;
  /** While one is: the old code's environments keep their connections until Lambda reaps them. */
  readonly whileDeploying: number;
  /** Connections in the worst case. */
  readonly worst: number;
  readonly limit: number;
}

/** A worker needs one for its statements, and one for the heartbeat that must not wait behind them. */
const MOST_PER_ENVIRONMENT = 2;

/** What Lambda keeps for functions without a reservation. Source: AWS Lambda, "Configuring reserved concurrency". */
const UNRESERVED = 100;

/**
 * The most connections that the functions can hold at once, held against what the server leaves to them. A function with
 * reserved executions cannot pass them; all others together cannot pass what the reservations leave of the account.
 * @throws GhoulsError configuration_invalid where the worst case does not fit, or a pool is too large
 */
export function planConnections(
  functions: readonly FunctionPlan[],
  perEnvironment: number,
  { concurrency, database }: PlanOptions,
): ConnectionsPlan {
  if (perEnvironment > MOST_PER_ENVIRONMENT) {
    throw new GhoulsError(
      "configuration_invalid",
      `database.poolSize is ${perEnvironment}, and a function holds ${MOST_PER_ENVIRONMENT} connections at most`,
      { fix: "Set database.poolSize to 2 or 1: a function waits for its steps, not for connections." },
    );
  }
  const reserving = functions.filter(({ reserved }) => reserved !== null);
  const reserved = sum(
    reserving
      .filter((one) => one.connects)
      .map((one) => Math.min(one.reserved ?? 0, one.executions ?? Infinity)),
  );
  const taken = sum(reserving.map((one) => one.reserved ?? 0));
  const left = concurrency.account - taken;
  if (taken > 0 && left < UNRESERVED) throw tooMuchReserved(taken, concurrency.account);
  const others = sum(
    functions.filter((one) => one.connects && one.reserved === null).map((one) => one.executions ?? Infinity),
  );
  const environments = reserved + Math.min(left, others);
  const whileDeploying = environments * 2;
  const worst = whileDeploying * perEnvironment;
  if (worst > database.maxConnections) {
    const reservable = left > UNRESERVED ? "reserve executions for admission, api and stream, " : "";
    throw new GhoulsError(
      "configuration_invalid",
      `in the worst case the functions hold ${worst} connections, and database.maxConnections is ${database.maxConnections}`,
      {
        fix:
          `${environments} environments with ${perEnvironment} connections each, twice while a deploy replaces them: ` +
          `lower queues.<name>.concurrency or database.poolSize, ${reservable}put a pooler ` +
          "in front of PostgreSQL, or raise database.maxConnections to what the server really has.",
      },
    );
  }
  return { perEnvironment, environments, whileDeploying, worst, limit: database.maxConnections };
}

function tooMuchReserved(taken: number, account: number): GhoulsError {
  const most = account - UNRESERVED;
  return new GhoulsError(
    "configuration_invalid",
    `${taken} executions are reserved of the account's ${account}, and Lambda keeps ${UNRESERVED} unreserved`,
    {
      fix:
        most > 0
          ? `Reserve ${most} at most, or set concurrency.account to the account's limit.`
          : "Reserve nothing: an account with so low a limit cannot. Set concurrency.account where its limit is higher, or ask AWS to raise it.",
    },
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
