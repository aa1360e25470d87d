import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { httpDecisionSource } from "./http-decision-source.ts";

const QUESTION = {
  tenantId: "acme",
  runId: "0b0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c",
  consentId: "6f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f1",
  title: "ship it",
  digest: "d",
  detail: { risk: "low" },
};

let server: Server;
let url: string;
let asked: { headers: IncomingMessage["headers"]; body: unknown }[] = [];
let answer: (response: ServerResponse) => void;

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      asked.push({ headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString()) });
      answer(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/decisions`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  asked = [];
});

const says =
  (body: unknown, status = 200) =>
  (response: ServerResponse) =>
    void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
const lookUp = (signal = new AbortController().signal) =>
  httpDecisionSource({ url, headers: () => ({ authorization: "Bearer t" }) }).lookUp(QUESTION, signal);

describe("a decision source over HTTP", () => {
  it("is sent the frozen request with its headers, and answers who decided", async () => {
    answer = says({ outcome: "grant", by: "TICKET-7", comment: "approved" });
    expect(await lookUp()).toEqual({ outcome: "grant", by: "TICKET-7", comment: "approved" });
    expect(asked).toMatchObject([{ body: QUESTION, headers: { authorization: "Bearer t" } }]);
    answer = says({ outcome: "deny", by: "TICKET-8" });
    expect(await lookUp()).toEqual({ outcome: "deny", by: "TICKET-8" });
    answer = says({ outcome: "pending" });
    expect(await lookUp()).toEqual({ outcome: "pending" });
  });

  it.each([
    ["an error", says({ outcome: "grant", by: "x" }, 500)],
    ["a grant by nobody", says({ outcome: "grant" })],
    ["another word", says({ outcome: "approved", by: "x" })],
    ["no JSON", (response: ServerResponse) => void response.end("<html>")],
    ["too much", says({ outcome: "grant", by: "x", more: "x".repeat(70_000) })],
    [
      "a way to somewhere else",
      (response: ServerResponse) => void response.writeHead(302, { location: "/elsewhere" }).end(),
    ],
  ])("that answers %s decides nothing", async (_what, given) => {
    answer = given;
    await expect(lookUp()).rejects.toThrow();
  });

  it("is given up at its deadline", async () => {
    const deadline = new AbortController();
    answer = () => deadline.abort();
    await expect(lookUp(deadline.signal)).rejects.toThrow();
  });

  it.each(["http://tickets.example/x", "ftp://tickets.example/x", "tickets", ""])(
    "is refused at %s",
    (address) => {
      expect(() => httpDecisionSource({ url: address })).toThrow(
        expect.objectContaining({ code: "configuration_invalid" }),
      );
    },
  );
});
