import type { Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { fail, leaveSignalsToHost, onHostGone, tell } from "./channel.ts";
import { givenCode } from "./serve-modules.ts";

/**
 * The API's process: `api.ts <module> <config> [<code>]`. It loads `createFetch(config)` of the module and says that it is
 * ready; at the word `listen` it serves it on loopback, and at `release` it leaves the port to the next one, and ends when
 * its last request is answered.
 */

type Fetch = (request: Request) => Response | Promise<Response>;

interface Handlers {
  loadConfig(path: string): Promise<{ readonly config: unknown }>;
  createFetch(config: unknown, overrides: object): Fetch;
}

interface Listen {
  readonly type: "listen";
  readonly port: number;
  /** Whether it must be exactly that port; else a free one where it is taken. */
  readonly exact: boolean;
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

function serve(server: Server): void {
  const open = new Set<ServerResponse>();
  server.prependListener("request", (_request, response: ServerResponse) => {
    open.add(response);
    response.once("close", () => open.delete(response));
  });
  const heed = async (message: Listen | { readonly type: "release" }): Promise<void> => {
    if (message.type === "listen") {
      await listenNear(server, message.port, message.exact);
      tell({ type: "listening", port: (server.address() as AddressInfo).port });
    } else {
      // It stops to listen at once; the callback comes when the last request has been answered. What would come over a
      // connection that is kept would be admitted for code that nobody runs any more.
      for (const response of open) response.shouldKeepAlive = false;
      server.close(() => process.exit(0));
      tell({ type: "released" });
    }
  };
  process.on("message", (message) => void heed(message as Listen).catch(fail));
}

async function main(): Promise<void> {
  const [module = "", configPath = "", code] = process.argv.slice(2);
  leaveSignalsToHost();
  const overrides = await givenCode(code);
  const handlers = (await import(module)) as Handlers;
  const { config } = await handlers.loadConfig(configPath);
  const fetch = handlers.createFetch(config, overrides);
  const server = createAdaptorServer({ fetch }) as Server;
  process.once("SIGTERM", () => {
    server.close(() => process.exit(0));
    server.closeAllConnections();
  });
  onHostGone(() => process.exit(0));
  serve(server);
  tell({ type: "ready" });
}

await main().catch(fail);
