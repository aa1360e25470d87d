import { existsSync } from "node:fs";
import * as core from "@ghouls/core";
import * as engine from "@ghouls/engine";
import * as ledger from "@ghouls/ledger";
import { MIGRATIONS } from "../../packages/ledger/src/schema/migrations/index.ts";

/** An engine by the number of the newest migration it knows. A frozen one may lack what came later. */
export interface Engine {
  readonly number: number;
  readonly core: typeof core;
  readonly engine: typeof engine;
  readonly ledger: typeof ledger;
}

const newest = MIGRATIONS.at(-1)?.number ?? 0;
export const NEWEST: Engine = { number: newest, core, engine, ledger };

/** Migrations that came with the one before them: no build ever knew that one alone, so there is none to freeze. */
const CAME_WITH_THE_ONE_BEFORE: readonly number[] = [3, 7, 11, 12, 14, 15, 16, 18, 19, 20, 22];

/** The engine that was deployed when migration `number` came. */
export function predecessorOf(number: number): number {
  const before = number - 1;
  return CAME_WITH_THE_ONE_BEFORE.includes(number) ? predecessorOf(before) : before;
}

const fileOf = (number: number) => new URL(`./engines/engine-${number}.mjs`, import.meta.url);

export function isFrozen(number: number): boolean {
  return existsSync(fileOf(number));
}

export async function frozenEngine(number: number): Promise<Engine> {
  return { number, ...((await import(fileOf(number).href)) as Omit<Engine, "number">) };
}
