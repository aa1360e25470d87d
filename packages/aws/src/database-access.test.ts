import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { GhoulsError, noFaults } from "@ghouls/core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { databaseAccess, type DatabaseSettings } from "./database-access.ts";
import { connectionStringOf, databaseSecret } from "./database-secret.ts";
import { rdsTokens } from "./rds-token.ts";

const credentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "key" };

/** Answers as Secrets Manager does: the wire format of the real SDK is tested, and not a stand-in for the SDK. */
const asked: unknown[] = [];
let answer: { readonly status: number; readonly body: unknown };
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    asked.push([request.headers["x-amz-target"], JSON.parse(Buffer.concat(chunks).toString())]);
    response.writeHead(answer.status, { "content-type": "application/x-amz-json-1.1" });
    response.end(JSON.stringify(answer.body));
  });
});
let endpoint: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  asked.length = 0;
});

async function refusal(act: () => unknown): Promise<GhoulsError> {
  const error = await Promise.resolve()
    .then(act)
    .then(
      () => new Error("it was taken"),
      (refused: unknown) => refused,
    );
  expect(error).toBeInstanceOf(GhoulsError);
  return error as GhoulsError;
}

describe("a secret of the database", () => {
  const read = (faults = noFaults) =>
    databaseSecret({ secretId: "prod/db", region: "eu-central-1", endpoint, credentials, faults });

  test("is fetched at each call, and is the connection string", async () => {
    const points: string[] = [];
    const source = read((point) => void points.push(point));
    answer = { status: 200, body: { SecretString: "postgres://a:1@h/x" } };
    expect(await source()).toBe("postgres://a:1@h/x");
    answer = { status: 200, body: { SecretString: "postgres://a:2@h/x" } };
    expect(await source()).toBe("postgres://a:2@h/x");
    expect(asked).toEqual([
      ["secretsmanager.GetSecretValue", { SecretId: "prod/db" }],
      ["secretsmanager.GetSecretValue", { SecretId: "prod/db" }],
    ]);
    expect(points).toEqual(Array(2).fill(["secrets.before-read", "secrets.after-read"]).flat());
  });

  test("that may not be read is refused with the right that is missing", async () => {
    answer = { status: 400, body: { __type: "AccessDeniedException", message: "no" } };
    const refused = await refusal(read());
    expect(refused.code).toBe("configuration_invalid");
    expect(refused.message).toBe("the secret prod/db cannot be read (AccessDeniedException)");
    expect(refused.fix).toContain("secretsmanager:GetSecretValue");
    expect(asked).toHaveLength(1);
  });

  test("written by RDS is put together, its characters are escaped, and TLS is verified", () => {
    const secret = JSON.stringify({
      engine: "postgres",
      username: "app@x",
      password: "p/a:s?s w#%",
      host: "db.example.com",
      port: 6432,
      dbname: "led/ger",
    });
    const url = new URL(connectionStringOf(secret, "s"));
    expect(decodeURIComponent(url.username)).toBe("app@x");
    expect(decodeURIComponent(url.password)).toBe("p/a:s?s w#%");
    expect(url.host).toBe("db.example.com:6432");
    expect(decodeURIComponent(url.pathname)).toBe("/led/ger");
    expect(url.search).toBe("?sslmode=verify-full");
  });

  test("without port and database has PostgreSQL's own, and may name its own TLS", () => {
    const secret = { username: "a", password: "b", host: "h", sslmode: "disable", sslrootcert: "/ca.pem" };
    const url = connectionStringOf(JSON.stringify(secret), "s");
    expect(url).toBe("postgres://a:b@h:5432/postgres?sslmode=disable&sslrootcert=%2Fca.pem");
  });

  test.each([
    ["nothing", "", "is neither a connection string nor JSON"],
    ["text", "hunter2-canary", "is neither a connection string nor JSON"],
    ["a list", "null", "is no JSON object"],
    ["only a password", '{"password":"canary"}', "has no username, host"],
    ["members of another kind", '{"username":1,"password":"canary","host":"h"}', "has no username"],
  ])("that holds %s is refused without a word of it", async (_what, secret, why) => {
    const refused = await refusal(() => connectionStringOf(secret, "prod/db"));
    expect(refused.message).toBe(`the secret prod/db ${why}`);
    expect(`${refused.message} ${refused.fix} ${JSON.stringify(refused.issues ?? null)}`).not.toContain(
      "canary",
    );
  });
});

describe("a token of RDS", () => {
  let now: { monotonicMs: number; wallMs: number };
  const clock = { monotonicMs: () => now.monotonicMs, wallMs: () => now.wallMs };
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllEnvs();
  });
  const place = { hostname: "db.example.com", port: 5432, username: "app", region: "eu-central-1" };
  beforeEach(() => {
    now = { monotonicMs: 0, wallMs: Date.UTC(2026, 0, 1) };
  });
  test("is signed for host, port and user, and good for 15 minutes", async () => {
    const token = new URL(`https://${await rdsTokens({ ...place, clock, credentials })()}`);
    expect(token.host).toBe("db.example.com:5432");
    expect(token.searchParams.get("Action")).toBe("connect");
    expect(token.searchParams.get("DBUser")).toBe("app");
    expect(token.searchParams.get("X-Amz-Expires")).toBe("900");
    expect(token.searchParams.get("X-Amz-Credential")).toContain("/eu-central-1/rds-db/");
  });

  test.each([
    ["the monotonic clock", "monotonicMs"],
    ["the wall clock of a process that was frozen", "wallMs"],
  ] as const)("is shared for five minutes of %s, and then signed anew", async (_which, field) => {
    // The signer looks at the time of the machine: a token that is signed anew has another text.
    vi.useFakeTimers({ toFake: ["Date"] });
    const tokens = rdsTokens({ ...place, clock, credentials });
    const [first, same] = await Promise.all([tokens(), tokens()]);
    expect(same).toBe(first);
    now[field] += 5 * 60_000;
    vi.setSystemTime(Date.now() + 5 * 60_000);
    expect(await tokens()).toBe(first);
    now[field] += 1;
    expect(await tokens()).not.toBe(first);
  });

  test("that cannot be signed is tried again by the next connection", async () => {
    vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
    vi.stubEnv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null");
    vi.stubEnv("AWS_CONFIG_FILE", "/dev/null");
    const tokens = rdsTokens({ ...place, clock });
    await expect(tokens()).rejects.toThrow(/credentials/i);
    vi.stubEnv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "key");
    expect(await tokens()).toContain("X-Amz-Signature");
  });
});

describe("what the ledger connects with", () => {
  const parts = { clock: { monotonicMs: () => 0, wallMs: () => 0 }, faults: noFaults };
  const settings: DatabaseSettings = {
    url: undefined,
    secretId: undefined,
    auth: "password",
    region: "eu-central-1",
  };
  const access = (change: Partial<DatabaseSettings>) => databaseAccess({ ...settings, ...change }, parts);

  test("is the connection string, a function that reads the secret, or the string with a token", async () => {
    expect(access({ url: "postgres://a:b@h/x" })).toEqual({ connectionString: "postgres://a:b@h/x" });
    expect(access({ secretId: "s" })).toEqual({ connectionString: expect.any(Function) });
    const url = "postgres://app%40x@db.example.com/x?sslmode=verify-full";
    expect(access({ url, auth: "iam" })).toEqual({ connectionString: url, password: expect.any(Function) });
  });

  test.each([
    ["neither", {}],
    ["both", { url: "postgres://a@h/x", secretId: "s" }],
    ["a token for a secret", { secretId: "s", auth: "iam" }],
    ["a token for nobody", { url: "postgres://h/x?sslmode=verify-full", auth: "iam" }],
    ["a token in the clear", { url: "postgres://a@h/x", auth: "iam" }],
    ["a token for no URL", { url: "canary", auth: "iam" }],
  ] as const)("is refused where there is %s", async (_what, change) => {
    const refused = await refusal(() => access(change));
    expect(refused.code).toBe("configuration_invalid");
    expect(`${refused.message} ${refused.fix}`).not.toContain("canary");
  });
});
