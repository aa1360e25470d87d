import { Server } from "node:net";
import { startFauxqs } from "fauxqs";
import { fail, leaveSignalsToHost, onHostGone, tell } from "ghouls/processes/channel";

/** The SQS server's process: `sqs.ts <data folder> <region>`. Queues and messages are kept in the folder. */

/** fauxqs listens on every interface and cannot be told otherwise; this process listens on loopback only. */
function listenOnLoopbackOnly(): void {
  const prototype: { listen: unknown } = Server.prototype;
  const listen = prototype.listen as (...args: unknown[]) => Server;
  prototype.listen = function (this: Server, ...args: unknown[]): Server {
    const [first, ...rest] = args;
    const options = typeof first === "object" && first !== null ? { ...first, host: "127.0.0.1" } : first;
    return Reflect.apply(listen, this, [options, ...rest]);
  };
}

async function main(): Promise<void> {
  const [dataDir = "", region = ""] = process.argv.slice(2);
  leaveSignalsToHost();
  process.umask(0o077);
  listenOnLoopbackOnly();
  const server = await startFauxqs({ port: 0, logger: false, defaultRegion: region, dataDir });
  const stop = (): void => {
    void server.stop().finally(() => process.exit(0));
  };
  process.once("SIGTERM", stop);
  onHostGone(stop);
  tell({ type: "ready", port: server.port });
}

await main().catch(fail);
