import type { JobSubmission } from "@ghouls/core";
import { createServer, type Server } from "node:http";
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer } from "node:net";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { httpService } from "./http-service.ts";
import { tlsServer, trustIt } from "./tls-server.support.ts";

const JOB: JobSubmission = {
  tenantId: "acme",
  runId: "0b0c7e9e-7d1c-4c39-9c53-0a4b7e1f2d3c",
  attemptId: "6f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f1",
  idempotencyKey: "a",
  requestText: "null",
  callback: null,
};

type Question = "submit" | "lookUp" | "cancel";
const QUESTIONS: readonly Question[] = ["submit", "lookUp", "cancel"];
const unknown = (why: string) => ({ state: "unknown", why });
/** Nothing was sent; only of a submission does that say anything. */
const unasked = (question: Question, why: string) => ({
  state: question === "submit" ? "unsent" : "unknown",
  why,
});

describe("a service that there is no connection to", () => {
  const asking = async (question: Question, url: string, signal = new AbortController().signal) => {
    const service = httpService({ url, request: z.null(), result: z.null() });
    return service[question](JOB, { signal, origins: [new URL(url).origin] });
  };
  const portOf = async (one: Server | TcpServer) => {
    await new Promise<void>((resolve) => one.listen(0, "127.0.0.1", resolve));
    return (one.address() as AddressInfo).port;
  };

  it("has certainly not been sent a submission, which is no word on one that was sent before", async () => {
    const closed = createServer();
    const port = await portOf(closed);
    await new Promise((resolve) => closed.close(resolve));
    for (const question of QUESTIONS)
      expect(await asking(question, `http://127.0.0.1:${port}/jobs`)).toEqual(
        unasked(question, "there was no connection to it (ECONNREFUSED)"),
      );
  });

  it("because its certificate is another's has not been sent one", async () => {
    let requests = 0;
    const other = tlsServer(
      () => (requests += 1),
      () => undefined,
    );
    const distrust = trustIt();
    try {
      const url = `https://127.0.0.1:${await portOf(other)}/jobs`;
      for (const question of QUESTIONS)
        expect(await asking(question, url)).toEqual(
          unasked(question, "there was no connection to it (ERR_TLS_CERT_ALTNAME_INVALID)"),
        );
    } finally {
      distrust();
      await new Promise((resolve) => other.close(resolve));
    }
    expect(requests).toBe(0);
  });

  it("in time has not been sent one; one that there was a connection to may have been", async () => {
    const deadline = new AbortController();
    const mute = createTcpServer((socket) => void socket.once("data", () => deadline.abort()));
    const port = await portOf(mute);
    expect(await asking("submit", `https://127.0.0.1:${port}/jobs`, deadline.signal)).toEqual(
      unasked("submit", "there was no connection to it in time"),
    );
    const resets = createTcpServer((socket) => void socket.once("data", () => socket.resetAndDestroy()));
    expect(await asking("submit", `http://127.0.0.1:${await portOf(resets)}/jobs`)).toEqual(
      unknown("it broke off, or its answer cannot be read (ECONNRESET)"),
    );
    for (const one of [mute, resets]) await new Promise((resolve) => one.close(resolve));
  });

  it("for the lookup after a 409 may have been sent the submission", async () => {
    const once = createServer((_request, response) => {
      once.close();
      response.writeHead(409).end();
    });
    const url = `http://127.0.0.1:${await portOf(once)}/jobs`;
    expect(await asking("submit", url)).toEqual(unknown("there was no connection to it (ECONNREFUSED)"));
  });
});
