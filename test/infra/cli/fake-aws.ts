import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export interface FakeAws {
  readonly url: string;
  close(): void;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body?: string | Buffer;
}

/** As much of AWS as the SST command itself talks to: parameters (bootstrap, passphrase) and objects (state, lock). */
export async function startFakeAws(): Promise<FakeAws> {
  const [parameters, objects] = [parameterStore(), objectStore()];
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const target = request.headers["x-amz-target"];
      const answer = typeof target === "string" ? parameters(target, body) : objects(request, body);
      response.writeHead(answer.status, { "content-type": answer.type }).end(answer.body ?? "");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  // By a name the SDK would put the bucket into the host.
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

function parameterStore(): (target: string, body: Buffer) => Answer {
  const bootstrap = JSON.stringify({ version: 5, asset: "sst-asset-mock", state: "sst-state-mock" });
  const values = new Map([["/sst/bootstrap", bootstrap]]);
  const json = (status: number, value: object): Answer => ({
    status,
    type: "application/x-amz-json-1.1",
    body: JSON.stringify(value),
  });
  return (target, body) => {
    const { Name, Value } = JSON.parse(body.toString()) as { Name: string; Value: string };
    if (target.endsWith(".PutParameter")) {
      values.set(Name, Value);
      return json(200, {});
    }
    if (!target.endsWith(".GetParameter")) return json(501, { __type: "NotImplemented", message: target });
    const found = values.get(Name);
    return found === undefined
      ? json(400, { __type: "ParameterNotFound" })
      : json(200, { Parameter: { Name, Value: found } });
  };
}

function objectStore(): (request: IncomingMessage, body: Buffer) => Answer {
  const objects = new Map<string, Buffer>();
  return ({ method, url = "" }, body) => {
    const [key = ""] = url.split("?");
    const found = objects.get(key);
    if (method === "PUT") {
      objects.set(key, body);
      return { status: 200, type: "application/xml" };
    }
    if (method === "DELETE") {
      objects.delete(key);
      return { status: 204, type: "application/xml" };
    }
    if (found !== undefined) return { status: 200, type: "application/json", body: found };
    return { status: 404, type: "application/xml", body: "<Error><Code>NoSuchKey</Code></Error>" };
  };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
