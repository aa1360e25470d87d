import { buildApp } from "fauxqs";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { afterAll, vi } from "vitest";

/** What becomes of a PUT on its way: lost before S3 sees it, or its answer is, or it is refused, or nobody ever answers. */
type Fate = "pass" | "lose-request" | "lose-answer" | "silence" | number;

/** A real S3 server of the test file's own, and a proxy before it that counts what is put. */
export interface TestS3 {
  readonly bucket: string;
  /** Keys of all PUTs that came by, in order. */
  readonly puts: readonly string[];
  /** Keys of those that S3 has taken. */
  readonly taken: readonly string[];
  /** What is to become of PUTs of keys that end so; each fate once, then they pass. */
  fate(ending: string, ...fates: readonly Fate[]): void;
  /** Resolves when a PUT of a key that ends so has come by. */
  seen(ending: string): Promise<void>;
  /** Text, bytes and metadata of an object, asked of S3 itself; undefined where there is none. */
  object(key: string): Promise<{ bytes: Buffer; metadata: Readonly<Record<string, string>> } | undefined>;
  /** Puts an object past the proxy. */
  put(key: string, body: string, metadata?: Readonly<Record<string, string>>): Promise<void>;
  /** Forgets what it has counted, and what was to become of PUTs. */
  forget(): void;
  /** Sets the environment of the SDK, until the test's environment is restored. */
  useEnvironment(): void;
}

export async function testS3(bucket = "releases"): Promise<TestS3> {
  const app = buildApp({ logger: false });
  const endpoint = await app.listen({ host: "127.0.0.1", port: 0 });
  await fetch(`${endpoint}/${bucket}`, { method: "PUT" });
  const puts: string[] = [];
  const taken: string[] = [];
  let fates: { ending: string; fates: Fate[] }[] = [];
  let waiting: { ending: string; resolve: () => void }[] = [];

  const proxy = createServer((request, response) => {
    void (async () => {
      const body = await buffer(request);
      const { pathname } = new URL(request.url ?? "", endpoint);
      const key = decodeURIComponent(pathname.slice(bucket.length + 2));
      let fate: Fate = "pass";
      if (request.method === "PUT") {
        puts.push(key);
        fate = fates.find(({ ending }) => key.endsWith(ending))?.fates.shift() ?? "pass";
        for (const one of waiting) if (key.endsWith(one.ending)) one.resolve();
      }
      if (fate === "silence") return;
      if (fate === "lose-request") return void request.socket.destroy();
      if (typeof fate === "number") {
        response.writeHead(fate, { "content-type": "application/xml" });
        response.end("<Error><Code>AccessDenied</Code><Message>no</Message></Error>");
        return;
      }
      const onward = httpRequest(new URL(request.url ?? "", endpoint), {
        method: request.method,
        headers: request.headers,
      });
      onward.once("response", (answer) => {
        if (request.method === "PUT" && answer.statusCode === 200) taken.push(key);
        if (fate === "lose-answer") return void request.socket.destroy();
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      onward.end(body);
    })().catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  afterAll(async () => {
    proxy.closeAllConnections();
    proxy.close();
    await app.close();
  });
  const at = (key: string) => `${endpoint}/${bucket}/${key}`;
  return {
    bucket,
    puts,
    taken,
    fate: (ending, ...next) => void fates.push({ ending, fates: [...next] }),
    seen: (ending) => new Promise((resolve) => waiting.push({ ending, resolve })),
    object: async (key) => {
      const answer = await fetch(at(key));
      if (answer.status === 404) return undefined;
      const metadata = [...answer.headers].filter(([name]) => name.startsWith("x-amz-meta-"));
      return {
        bytes: Buffer.from(await answer.arrayBuffer()),
        metadata: Object.fromEntries(
          metadata.map(([name, value]) => [name.slice("x-amz-meta-".length), value]),
        ),
      };
    },
    put: async (key, body, metadata = {}) => {
      const headers = Object.entries(metadata).map(([name, value]) => [`x-amz-meta-${name}`, value] as const);
      await fetch(at(key), { method: "PUT", body, headers: Object.fromEntries(headers) });
    },
    forget: () => {
      puts.length = 0;
      taken.length = 0;
      fates = [];
      waiting = [];
    },
    useEnvironment: () => {
      const { port } = proxy.address() as AddressInfo;
      vi.stubEnv("AWS_ENDPOINT_URL", `http://127.0.0.1:${port}`);
      vi.stubEnv("AWS_REGION", "us-east-1");
      vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
      vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
      vi.stubEnv("RELEASES_BUCKET", bucket);
    },
  };
}
