import type { Migration } from "./migration.ts";

export const undo: Migration = { number: 14, name: "undo", sql: `select 1;` };
