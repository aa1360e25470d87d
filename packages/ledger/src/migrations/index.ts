import { runs } from "./0001-runs.ts";
import type { Migration } from "./migration.ts";

/** In order; numbers have no gaps. */
export const MIGRATIONS: readonly Migration[] = [runs];
