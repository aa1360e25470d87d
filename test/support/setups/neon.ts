import { connect, type AddressInfo } from "node:net";
import { WebSocketServer, createWebSocketStream } from "ws";
import type { TestProject } from "vitest/node";
import { startPostgres18 } from "./postgres18.ts";

/** The ledger speaks through Neon's driver to a WebSocket proxy in front of PostgreSQL, as Neon's own proxy is. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await startPostgres18();
  const proxy = await startProxy();
  project.provide("postgres", {
    ...postgres.server,
    driver: "neon",
    neonProxy: `127.0.0.1:${proxy.port}/v2`,
  });
  project.provide("way", "neon");
  return async () => {
    await proxy.stop();
    await postgres.stop();
  };
}

/** Joins each WebSocket to the address that its query names, on this machine only. */
async function startProxy(): Promise<{ port: number; stop(): Promise<void> }> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  server.on("connection", (socket, request) => {
    const address = new URL(request.url ?? "/", "ws://127.0.0.1").searchParams.get("address") ?? "";
    const [host, port] = address.split(":");
    if (host !== "127.0.0.1") {
      socket.close();
      return;
    }
    const upstream = connect({ host, port: Number(port), noDelay: true });
    const client = createWebSocketStream(socket);
    client.pipe(upstream).pipe(client);
    client.on("error", () => upstream.destroy());
    client.on("close", () => upstream.destroy());
    upstream.on("error", () => socket.terminate());
    upstream.on("close", () => socket.close());
  });
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    stop: async () => {
      for (const client of server.clients) client.terminate();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
