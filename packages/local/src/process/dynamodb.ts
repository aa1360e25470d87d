import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { openEventsTable } from "@ghouls/aws";
import dynalite from "dynalite";
import { fail, leaveSignalsToHost, onHostGone, tell } from "ghouls/processes/channel";

/**
 * The DynamoDB server's process: `dynamodb.ts <table> <region>`. The live channel is all that it has, so it keeps it in memory:
 * after a restart the ledger tells what has happened. It has no time to live, so what has expired is deleted here.
 */

const PURGE_MS = 60_000;

async function main(): Promise<void> {
  const [table = "", region = ""] = process.argv.slice(2);
  leaveSignalsToHost();
  const server = dynalite({ createTableMs: 0 });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const endpoint = `http://127.0.0.1:${port}`;
  const events = await openEventsTable({ table, region, endpoint, credentials });
  const purging = setInterval(() => {
    events.deleteExpired(Date.now()).catch((error: unknown) => {
      process.stderr.write(`what has expired could not be deleted: ${String(error)}\n`);
    });
  }, PURGE_MS);
  const stop = (): void => {
    clearInterval(purging);
    events.close();
    server.close(() => process.exit(0));
    server.closeAllConnections();
  };
  process.once("SIGTERM", stop);
  onHostGone(stop);
  tell({ type: "ready", port });
}

await main().catch(fail);
