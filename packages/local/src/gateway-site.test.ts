import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Site } from "@ghouls/console";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openGateway, type Gateway } from "./gateway.ts";

const HTML = { accept: "text/html" };
/** Stands for the built console. */
const site: Site = {
  fileFor: (path, accept) =>
    path === "/app.js" || (accept === "text/html" && !path.startsWith("/v1"))
      ? { body: Buffer.from(`file ${path}`), headers: { "content-type": "text/plain", "x-console": "yes" } }
      : undefined,
};
const api = createServer((request, response) => response.end(`api ${request.method} ${request.url}`));
let gateway: Gateway;

beforeAll(async () => {
  api.listen(0, "127.0.0.1");
  await once(api, "listening");
  gateway = await openGateway(0, (api.address() as AddressInfo).port, site);
});
afterAll(() => {
  gateway.close();
  api.close();
  api.closeAllConnections();
});

const ask = async (path: string, init: RequestInit = {}) => {
  const answer = await fetch(`${gateway.url}${path}`, init);
  return { text: await answer.text(), headers: answer.headers };
};

describe("the console at the API's port", () => {
  it("answers its files and its pages, whatever their query, with its own headers", async () => {
    const { text, headers } = await ask("/app.js?v=1");
    expect(text).toBe("file /app.js");
    expect([headers.get("x-console"), headers.get("content-length")]).toEqual(["yes", "12"]);
    expect((await ask("/runs/1", { headers: HTML })).text).toBe("file /runs/1");
  });

  it("sends a head without its body", async () => {
    const { text, headers } = await ask("/app.js", { method: "HEAD" });
    expect([text, headers.get("content-length")]).toEqual(["", "12"]);
  });

  it("leaves everything else to the API: its routes, programs, and what is no read", async () => {
    expect((await ask("/v1/runs", { headers: HTML })).text).toBe("api GET /v1/runs");
    expect((await ask("/runs", { headers: { accept: "application/json" } })).text).toBe("api GET /runs");
    expect((await ask("/app.js", { method: "POST" })).text).toBe("api POST /app.js");
  });

  it("is there before the API is", async () => {
    const early = await openGateway(0, undefined, site);
    try {
      expect(await (await fetch(`${early.url}/`, { headers: HTML })).text()).toBe("file /");
      expect((await fetch(`${early.url}/v1/runs`)).status).toBe(503);
    } finally {
      early.close();
    }
  });
});
