import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll } from "vitest";

/** A job as it reached the service. */
interface Ordered {
  readonly key: string;
  readonly body: unknown;
  readonly headers: IncomingHttpHeaders;
}

/** A service on this machine that takes jobs, and reports only when a test tells it to. */
export interface Stonemason {
  readonly url: string;
  /** Submissions of a key, in order of their arrival. */
  ordered(key: string): readonly Ordered[];
  /** All submissions. */
  all(): readonly Ordered[];
  /** Reports a job to where its submission said. */
  report(job: Ordered, report: object): Promise<{ status: number; body: string }>;
}

/** Listens before the hooks that come after it. */
export function stonemason(): Stonemason {
  const orders: Ordered[] = [];
  let server: Server;
  let url = "";
  beforeAll(async () => {
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const key = decodeURIComponent((request.url ?? "").replace("/jobs/", ""));
        const known = orders.some((order) => order.key === key);
        if (request.method === "PUT") {
          orders.push({
            key,
            body: JSON.parse(Buffer.concat(chunks).toString()) as unknown,
            headers: request.headers,
          });
        }
        const state = request.method === "PUT" || known ? "accepted" : "absent";
        response.end(JSON.stringify({ state: request.method === "DELETE" ? "cancelled" : state }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    get url() {
      return url;
    },
    ordered: (key) => orders.filter((order) => order.key === key),
    all: () => orders,
    report: async ({ headers }, report) => {
      const answer = await fetch(String(headers["x-callback-url"]), {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "ghouls-callback-token": String(headers["x-callback-token"]),
        },
        body: JSON.stringify(report),
      });
      return { status: answer.status, body: await answer.text() };
    },
  };
}

/** Its adapter, as the deployed project has it. The address stands in a variable of the egress function alone. */
export const STONEMASON = `import * as z from "zod";

const ask = async (method: string, key: string, signal: AbortSignal, more: object = {}) => {
  const answer = await fetch(process.env["STONEMASON_URL"] + "/jobs/" + encodeURIComponent(key), { method, signal, ...more });
  return answer.json();
};

export const stonemason = {
  adapter: "stonemason", version: "1", identity: { workshop: "north" },
  request: z.object({ name: z.string() }), result: z.object({ stone: z.string() }),
  traits: { lookup: "authoritative", submit: "idempotent", cancel: "final", delaySeconds: 1 } as const,
  times: { timeoutMs: 5_000, pollMs: null, heartbeatMs: null },
  submit: (job, { signal }) => ask("PUT", job.idempotencyKey, signal, {
    body: job.requestText,
    headers: {
      "x-sent-by": process.env["AWS_LAMBDA_FUNCTION_NAME"] ?? "nobody",
      "x-callback-url": job.callback?.url ?? "", "x-callback-token": job.callback?.token ?? "",
    },
  }),
  lookUp: (job, { signal }) => ask("GET", job.idempotencyKey, signal),
  cancel: (job, { signal }) => ask("DELETE", job.idempotencyKey, signal),
};
`;
