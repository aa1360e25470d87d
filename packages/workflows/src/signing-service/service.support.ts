import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { createServer } from "node:http";
import type { IncomingHttpHeaders, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { SignRequest } from "./statement.ts";

/** For tests: the signing service as a process of its own. */
export interface SigningProcess {
  readonly url: string;
  readonly process: ChildProcess;
  /** Ends it by force, in whatever it does. */
  kill(): Promise<void>;
}

/** Starts it over a folder; it goes with its test. */
export async function startSigning(
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
): Promise<SigningProcess> {
  const child = fork(fileURLToPath(new URL("./main.ts", import.meta.url)), [], {
    env: { ...process.env, PORT: "0", TURN_MS: "0", ...env, DATA_DIR: dataDir },
    execArgv: [],
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestFinished(kill);
  const port = await new Promise<number>((resolve, reject) => {
    child.once("message", (message) => resolve((message as { port: number }).port));
    void ended.then(() => reject(new Error("it ended before it was ready")));
  });
  return { url: `http://127.0.0.1:${port}`, process: child, kill };
}

/** For tests: something that may be signed. */
export const REQUEST: SignRequest = {
  bom: { sha256: "a".repeat(64) },
  verdict: { sha256: "b".repeat(64), release: true },
  decidedBy: ["user:ada"],
  runId: "0b6f7f6e-7d8d-4f5c-9a55-0d7d7c1f2a3b",
};

/** For tests: a submission. */
export function submit(
  url: string,
  key: string,
  body: unknown = REQUEST,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(`${url}/jobs`, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": key, ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

interface Called {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

/** For tests: who is called back. Each call is answered with the next of these statuses, then with 200. */
export async function callee(statuses: readonly (number | "hang up")[] = []) {
  const calls: Called[] = [];
  const server: Server = createServer((request, response) => {
    void text(request).then((body) => {
      const status = statuses[calls.length] ?? 200;
      calls.push({ path: request.url ?? "", headers: request.headers, body: JSON.parse(body) });
      if (status === "hang up") request.socket.destroy();
      else
        response
          .writeHead(status, status < 400 && status >= 300 ? { location: "/elsewhere" } : {})
          .end("noted");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`, calls };
}
