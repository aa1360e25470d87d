import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, type JWK } from "jose";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { jwks, type JwksOptions } from "./jwks.ts";

const ISSUER = "https://id.test";
const [first, second, foreign] = await Promise.all(
  ["EdDSA", "ES256", "EdDSA"].map((alg) => generateKeyPair(alg, { extractable: true })),
);
if (first === undefined || second === undefined || foreign === undefined) throw new Error("no keys");
const published = async (pair: typeof first, kid: string, alg: string): Promise<JWK> => ({
  ...(await exportJWK(pair.publicKey)),
  kid,
  alg,
  use: "sig",
});

let server: Server;
let keys: JWK[];
let asked: number;
let isAway: boolean;
beforeEach(async () => {
  [keys, asked, isAway] = [[await published(first, "k1", "EdDSA")], 0, false];
  server = createServer((_request, response) => {
    asked += 1;
    if (isAway) return void response.writeHead(500).end();
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ keys }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const urlOf = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
const authOf = (options: Partial<JwksOptions> = {}) =>
  jwks({
    issuer: ISSUER,
    audience: "ghouls",
    jwksUrl: urlOf(),
    tenantClaim: "org_id",
    rolesClaim: "roles",
    ...options,
  });

const CLAIMS = {
  iss: ISSUER,
  aud: "ghouls",
  sub: "user:ada",
  org_id: "acme",
  roles: ["legal"],
  exp: Math.floor(Date.now() / 1_000) + 600,
};
const signed = (
  claims: Record<string, unknown> = {},
  { kid = "k1", alg = "EdDSA", key = first.privateKey } = {},
) => new SignJWT({ ...CLAIMS, ...claims }).setProtectedHeader({ alg, kid }).sign(key);
const ADA = { tenantId: "acme", subject: "user:ada", roles: ["legal"] };

test("a token of the provider speaks for its tenant, subject and roles, and for nothing else that it claims", async () => {
  expect(await authOf()(await signed({ permissions: ["deployment:pause"], tenantId: "other" }))).toEqual(ADA);
  expect(await authOf()(await signed({ roles: "legal  ops" }))).toMatchObject({ roles: ["legal", "ops"] });
  expect(await authOf({ rolesClaim: "groups" })(await signed())).toMatchObject({ roles: [] });
  expect(
    await authOf({ audience: ["other", "ghouls"], subjectClaim: "org_id" })(await signed()),
  ).toMatchObject({
    subject: "acme",
  });
});

const past = Math.floor(Date.now() / 1_000) - 60;
describe("nobody speaks with", () => {
  test.each<[string, () => string | Promise<string>]>([
    ["no token at all", () => ""],
    ["something else", () => "a.b"],
    ["three words", () => "a.b.c"],
    ["one that has expired", () => signed({ exp: past })],
    ["one that never expires", () => signed({ exp: undefined })],
    ["one that is not valid yet", () => signed({ nbf: past + 600 })],
    ["one for somebody else", () => signed({ aud: "other" })],
    ["one for nobody", () => signed({ aud: undefined })],
    ["one of another issuer", () => signed({ iss: "https://other.test" })],
    ["one without a tenant", () => signed({ org_id: undefined })],
    ["one of an empty tenant", () => signed({ org_id: "" })],
    ["one of two tenants", () => signed({ org_id: ["acme", "other"] as never })],
    ["one with a line break in its tenant", () => signed({ org_id: "acme\nother" })],
    ["one without a subject", () => signed({ sub: undefined })],
    ["one whose roles are no names", () => signed({ roles: [1] })],
    ["one signed by another key", () => signed({}, { key: foreign.privateKey })],
    ["one of a key that is not published", () => signed({}, { kid: "k9", key: foreign.privateKey })],
    ["one that nobody signed", () => new UnsecuredJWT(CLAIMS).encode()],
    [
      "one whose claims were changed",
      async () => {
        const [header, , signature] = (await signed()).split(".");
        const claims = Buffer.from(JSON.stringify({ ...CLAIMS, org_id: "other" })).toString("base64url");
        return `${header}.${claims}.${signature}`;
      },
    ],
    [
      "one signed with a shared key, which is the public one",
      async () => {
        const key = new TextEncoder().encode(JSON.stringify(keys[0]).padEnd(64));
        return new SignJWT(CLAIMS).setProtectedHeader({ alg: "HS256", kid: "k1" }).sign(key);
      },
    ],
    ["one that is too long", () => signed({ padding: "x".repeat(9_000) })],
  ])("%s", async (_, make) => {
    expect(await authOf()(await make())).toBeUndefined();
  });
});

test("a key that was published since is fetched, once in a while", async () => {
  const auth = authOf();
  expect(await auth(await signed())).toEqual(ADA);
  expect(asked).toBe(1);
  keys = [await published(second, "k2", "ES256")];
  // Not sooner than half a minute after the last time, so that nobody's tokens make us ask.
  const rotated = await signed({}, { kid: "k2", alg: "ES256", key: second.privateKey });
  expect(await auth(rotated)).toBeUndefined();
  expect(asked).toBe(1);
  expect(await authOf()(rotated)).toEqual(ADA);
});

test("while the provider is away known keys go on to work, and nobody is taken for a stranger", async () => {
  isAway = true;
  await expect(authOf()(await signed())).rejects.toMatchObject({ code: "identity_unavailable" });
  await expect(authOf({ jwksUrl: "http://127.0.0.1:1/keys" })(await signed())).rejects.toMatchObject({
    code: "identity_unavailable",
  });
  isAway = false;
  const auth = authOf();
  expect(await auth(await signed())).toEqual(ADA);
  isAway = true;
  expect(await auth(await signed())).toEqual(ADA);
});

test("keys that are no longer fresh are believed for a while, where the provider does not answer", async () => {
  const options = {
    issuer: ISSUER,
    audience: "ghouls",
    jwksUrl: urlOf(),
    tenantClaim: "org_id",
    rolesClaim: "roles",
  };
  const times = { cooldownMs: 0, timeoutMs: 3_000, freshMs: 0, staleMs: 3_600_000 };
  const [auth, impatient] = [jwks(options, times), jwks(options, { ...times, staleMs: -1 })];
  for (const one of [auth, impatient]) expect(await one(await signed())).toEqual(ADA);
  isAway = true;
  expect(await auth(await signed())).toEqual(ADA);
  expect(await auth(await signed({ exp: past }))).toBeUndefined();
  // It may be new: nobody knows.
  await expect(auth(await signed({}, { kid: "k2", key: foreign.privateKey }))).rejects.toMatchObject({
    code: "identity_unavailable",
  });
  await expect(impatient(await signed())).rejects.toMatchObject({ code: "identity_unavailable" });
});

test.each<[string, Partial<JwksOptions>, RegExp]>([
  ["keys over an open network", { jwksUrl: "http://id.test/keys" }, /no https address/],
  ["an address that is none", { jwksUrl: "keys" }, /no https address/],
  ["a shared algorithm", { algorithms: ["RS256", "HS256"] }, /"HS256" is not taken/],
  ["none", { algorithms: ["none"] }, /"none" is not taken/],
  ["no tenant", { tenantClaim: "" }, /must be given/],
  ["no audience", { audience: [] }, /must be given/],
])("refuses %s", (_, options, message) => {
  expect(() => authOf(options)).toThrow(message);
});
