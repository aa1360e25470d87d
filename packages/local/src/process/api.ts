import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { fail, leaveSignalsToHost, onHostGone, tell } from "./channel.ts";

/**
 * The API's process: `api.ts <module> <config> <port> <exact|free>`. It serves `createFetch(config)` of the module on
 * loopback; where the port is taken, a free one unless it must be exactly that.
 */

type Fetch = (request: Request) => Response | Promise<Response>;

interface Handlers {
  loadConfig(path: string): Promise<{ readonly config: unknown }>;
  createFetch(config: unknown): Fetch;
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
}

async function listenNear(server: Server, port: number, exact: boolean): Promise<void> {
  try {
    await listen(server, port);
  } catch (error) {
    const taken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
    if (!taken || exact) {
      throw Object.assign(new Error(`port ${port} cannot be used`, { cause: error }), {
        fix: "Choose another with --port, or --port 0 for any.",
      });
    }
    await listen(server, 0);
  }
}

async function main(): Promise<void> {
  const [module = "", configPath = "", port = "0", exact = "free"] = process.argv.slice(2);
  leaveSignalsToHost();
  const handlers = (await import(module)) as Handlers;
  const { config } = await handlers.loadConfig(configPath);
  const fetch = handlers.createFetch(config);
  const server = createAdaptorServer({ fetch }) as Server;
  const close = (): void => {
    server.close(() => process.exit(0));
    server.closeAllConnections();
  };
  process.once("SIGTERM", close);
  onHostGone(() => process.exit(0));
  await listenNear(server, Number(port), exact === "exact");
  tell({ type: "ready", port: (server.address() as AddressInfo).port });
}

await main().catch(fail);
