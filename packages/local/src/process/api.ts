import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { fail, leaveSignalsToHost, onHostGone, tell } from "ghouls/processes/channel";
import { givenCode } from "./serve-modules.ts";

/**
 * The API's process: `api.ts <module> <config> [<code>]`. It serves `createFetch(config)` of the module on a free port of
 * loopback, which the host's gateway sends requests to.
 */

type Fetch = (request: Request) => Response | Promise<Response>;

interface Handlers {
  loadConfig(path: string): Promise<{ readonly config: unknown }>;
  createFetch(config: unknown, overrides: object): Fetch;
}

async function main(): Promise<void> {
  const [module = "", configPath = "", code] = process.argv.slice(2);
  leaveSignalsToHost();
  const overrides = await givenCode(code);
  const draining = new AbortController();
  process.on("message", (message: { readonly type?: string }) => {
    if (message.type === "drain") draining.abort();
  });
  const handlers = (await import(module)) as Handlers;
  const { config } = await handlers.loadConfig(configPath);
  const fetch = handlers.createFetch(config, { ...overrides, draining: draining.signal });
  const server = createAdaptorServer({ fetch }) as Server;
  process.once("SIGTERM", () => {
    server.close(() => process.exit(0));
    server.closeAllConnections();
  });
  onHostGone(() => process.exit(0));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  tell({ type: "ready", port: (server.address() as AddressInfo).port });
}

await main().catch(fail);
