declare module "dynalite" {
  import type { Server } from "node:http";
  /** A DynamoDB server in memory; the table's states change after these milliseconds. */
  export default function dynalite(options: { createTableMs?: number }): Server;
}
