import type { Migration } from "./migration.ts";

export const pauses: Migration = { number: 15, name: "pauses", sql: `select 1;` };
