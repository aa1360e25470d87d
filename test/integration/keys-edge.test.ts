import { beforeEach, describe, expect, test } from "vitest";
import { openApiDocument } from "@ghouls/api";
import { BUILT_IN_ROLES, PERMISSIONS, type Permission, type Principal } from "@ghouls/core";
import { createFetch, defineConfig } from "ghouls";
import { testDatabase } from "../support/database.ts";
import { makeRun } from "../support/factories.ts";
import { asMigrator, makeKey, type MadeKey } from "../support/keys.ts";

/** Every route of the document over a real ledger, with every kind of token. */

const db = await testDatabase();
const answered: string[] = [];
const lines: string[] = [];
const overrides = {
  variables: { DATABASE_URL: db.applicationUrl },
  write: (line: string) => void lines.push(line),
  faults: (point: string, detail: string) => {
    if (point === "ledger.before-statement" && failing.includes(detail)) throw new Error("canary");
    if (point === "ledger.after-statement") answered.push(detail);
  },
};
let failing: readonly string[] = [];
const config = defineConfig({ workflows: [], roles: { auditor: ["runs:read"] } });
const fetchApi = createFetch(config, overrides);

interface Route {
  readonly method: string;
  readonly path: string;
  readonly needs: Permission;
}

/** As the document tells them, which the guards are made from. */
const routes = Object.entries(openApiDocument().paths ?? {}).flatMap(([path, item]) =>
  Object.entries(item as Record<string, { security?: Record<string, string[]>[] }>).flatMap(
    ([method, { security = [] }]): Route[] =>
      security.flatMap(({ bearer = [] }) =>
        bearer.map((needs) => ({ method: method.toUpperCase(), path, needs: needs as Permission })),
      ),
  ),
);

const run = await makeRun(db, { tenantId: "acme" });
const of = (change: Partial<Principal>): Principal => ({
  tenantId: "acme",
  subject: "user:ada",
  roles: ["admin"],
  ...change,
});
const admin = await makeKey(db, of({}));
const foreign = await makeKey(db, of({ tenantId: "umbrella" }));
const expired = await makeKey(db, of({}), 60_000);
await db.admin("update ghouls.api_keys set expires_at = ghouls.clock() where key_id = $1", [expired.keyId]);
const revoked = await makeKey(db, of({}));
await asMigrator(db, (keys) => keys.revoke(revoked.keyId, { actor: null, reason: "by a test" }));
const without = new Map<Permission, MadeKey>();
for (const permission of PERMISSIONS) {
  const permissions = PERMISSIONS.filter((one) => one !== permission);
  without.set(permission, await makeKey(db, of({ roles: ["legal"], permissions })));
}
/** A whole key that the ledger does not have, and one that has the id of another. */
const elsewhere = await testDatabase();
const unknown = await makeKey(elsewhere, of({}));
const forged = `${admin.text.slice(0, 24)}${unknown.text.slice(24)}`;

/** A text with its checksum: who forges a key can reckon it too. */
async function withChecksum(text: string): Promise<string> {
  const { crc32 } = await import("node:zlib");
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const body = text.slice(0, -6);
  let sum = "";
  for (let rest = crc32(body); sum.length < 6; rest = Math.floor(rest / 62))
    sum = `${digits[rest % 62]}${sum}`;
  return `${body}${sum}`;
}
const wrongSecret = await withChecksum(forged);

function ask({ method, path }: Pick<Route, "method" | "path">, token: string | null, runId = run.runId) {
  const at = path.replace("{id}", runId).replace("{item}", "worker-1").replace("{name}", "paid");
  const query = method === "DELETE" ? "?reason=by%20a%20test" : "";
  return fetchApi(
    new Request(`http://127.0.0.1${at}${query}`, {
      method,
      headers: {
        "content-type": "application/json",
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(method === "POST" ? { body: JSON.stringify(bodyOf(path)) } : {}),
    }),
  );
}

function bodyOf(path: string): unknown {
  if (path.endsWith("/batch")) return { runs: [{ workflow: "none" }] };
  if (path.endsWith("/runs")) return { workflow: "none" };
  if (path === "/v1/runs/cancel") return { filter: { workflow: "none" }, reason: "by a test" };
  if (path.endsWith("/passes")) return { passes: ["timers"], dryRun: true };
  if (path.endsWith("/pauses")) return { scope: "workflow", workflow: "none", reason: "by a test" };
  if (path.startsWith("/v1/attempts")) return { outcome: "cancelled", reason: "by a test" };
  if (path.endsWith("/decision")) return { verdict: "grant", digest: "of no request" };
  return path.endsWith("/signals/{name}") ? {} : { reason: "by a test" };
}

interface Problem {
  readonly type: string;
  readonly detail: string;
  readonly fix: string;
}
const problemOf = async (answer: Response) => (await answer.json()) as Problem;

beforeEach(() => {
  answered.length = 0;
  failing = [];
});

test("every permission is asked for by a route, and every route but the public ones asks for one", () => {
  // A pause, or a fault, of the deployment is a route's that those of a tenant share: what is meant asks for more.
  const shared = ["deployment:pause", "deployment:integrity"];
  const ofRoutes = PERMISSIONS.filter((permission) => !shared.includes(permission));
  expect(new Set(routes.map(({ needs }) => needs))).toEqual(new Set(ofRoutes));
  const all = Object.entries(openApiDocument().paths ?? {}).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const guarded = routes.map(({ method, path }) => `${method} ${path}`);
  expect(all.filter((route) => !guarded.includes(route))).toEqual([
    // Whoever calls it has a token of another kind.
    "POST /v1/attempts/{id}/callback",
    // Needs a token, and no permission.
    "GET /v1/whoami",
    "GET /healthz",
    "GET /readyz",
  ]);
});

describe.each(routes)("$method $path", (route) => {
  test.each([
    ["no token", null],
    ["a token of no form", "operator"],
    ["a key with a typing error", `${admin.text.slice(0, -1)}${admin.text.endsWith("0") ? "1" : "0"}`],
    ["the id of another key, with a wrong checksum", forged],
    ["a key that the ledger does not have", unknown.text],
    ["a key with a wrong secret", wrongSecret],
    ["an expired key", expired.text],
    ["a revoked key", revoked.text],
  ])("answers %s with the same 401, and does nothing", async (_what, token) => {
    const answer = await ask(route, token);
    expect(answer.status).toBe(401);
    const { type, detail, fix } = await problemOf(answer);
    expect({ type, detail, fix }).toEqual({
      type: "urn:ghouls:problem:unauthenticated",
      detail: "The request carries no bearer token that is known here.",
      fix: "Send `Authorization: Bearer <token>` with a key of `ghouls keys create`, or a token of your identity provider.",
    });
    expect(answered.filter((statement) => statement !== "keys.by-id")).toEqual([]);
  });

  test(`answers a key with every permission but ${route.needs} with 403 that names it`, async () => {
    const answer = await ask(route, without.get(route.needs)?.text ?? "");
    expect(answer.status).toBe(403);
    expect(await problemOf(answer)).toMatchObject({
      type: "urn:ghouls:problem:forbidden",
      detail: `This needs the permission ${route.needs}, which the token does not have.`,
    });
    expect(answered.filter((statement) => !statement.startsWith("keys."))).toEqual([]);
  });

  test("answers a key with that permission alone, and never with 500", async () => {
    const alone = await makeKey(db, of({ roles: [], permissions: [route.needs] }));
    expect([200, 202, 404, 409]).toContain((await ask(route, alone.text)).status);
  });

  test.runIf(route.path.includes("{id}"))(
    "answers another tenant's key with 404, as for no run",
    async () => {
      const answer = await ask(route, foreign.text);
      const absent = await ask(route, admin.text, "ffffffff-7d1c-4c39-9c53-0a4b7e1f2d3c");
      expect([answer.status, absent.status]).toEqual([404, 404]);
      expect((await problemOf(answer)).detail).toBe((await problemOf(absent)).detail);
      const [row] = await db.admin("select status from ghouls.runs where run_id = $1", [run.runId]);
      expect(row).toBeDefined();
    },
  );
});

describe("a pause of the whole deployment", () => {
  const pauses = async (token: string, scope: string) => {
    const answer = await fetchApi(
      new Request("http://127.0.0.1/v1/pauses", {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
        body: JSON.stringify({ scope, reason: "by a test" }),
      }),
    );
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const lifts = (token: string, id: string) =>
    fetchApi(
      new Request(`http://127.0.0.1/v1/pauses/${id}?reason=by%20a%20test`, {
        method: "DELETE",
        headers: { authorization: `Bearer ${token}` },
      }),
    );

  test("is refused to every built-in role of a tenant, and given to a key that has the permission by name", async () => {
    for (const role of Object.keys(BUILT_IN_ROLES)) {
      const { text } = await makeKey(db, of({ roles: [role] }));
      expect(await pauses(text, "all")).toMatchObject({
        status: 403,
        body: { type: "urn:ghouls:problem:forbidden" },
      });
    }
    const deployments = await makeKey(db, of({ roles: ["operator"], permissions: ["deployment:pause"] }));
    const { status, body } = await pauses(deployments.text, "all");
    expect(status).toBe(200);
    const { pauseId } = body["pause"] as { pauseId: string };
    expect((await lifts(admin.text, pauseId)).status).toBe(403);
    expect((await lifts(foreign.text, pauseId)).status).toBe(403);
    expect((await lifts(deployments.text, pauseId)).status).toBe(200);
  });

  test("is not a tenant's own, which that tenant alone lifts", async () => {
    const { status, body } = await pauses(admin.text, "tenant");
    expect([status, body]).toMatchObject([200, { created: true, pause: { tenantId: "acme" } }]);
    const { pauseId } = body["pause"] as { pauseId: string };
    expect((await lifts(foreign.text, pauseId)).status).toBe(404);
    expect((await lifts(admin.text, pauseId)).status).toBe(200);
  });
});

describe("a key", () => {
  const list = { method: "GET", path: "/v1/runs" };

  test("sees its own tenant's runs and no others", async () => {
    const ids = async (key: MadeKey) =>
      ((await (await ask(list, key.text)).json()) as { runs: { runId: string }[] }).runs.map(
        ({ runId }) => runId,
      );
    expect(await ids(admin)).toContain(run.runId);
    expect(await ids(foreign)).toEqual([]);
  });

  test("that is unknown, wrong, expired or revoked costs the same one statement", async () => {
    for (const token of [unknown.text, wrongSecret, expired.text, revoked.text]) {
      answered.length = 0;
      await ask(list, token);
      expect(answered).toEqual(["keys.by-id"]);
    }
  });

  test("with a typing error is told by its checksum, and asks the ledger nothing", async () => {
    await ask(list, forged);
    expect(answered).toEqual([]);
  });

  test("that is revoked is refused from the next request on", async () => {
    const key = await makeKey(db, of({}));
    expect((await ask(list, key.text)).status).toBe(200);
    await asMigrator(db, (keys) => keys.revoke(key.keyId, { actor: null, reason: "it leaked" }));
    expect((await ask(list, key.text)).status).toBe(401);
  });

  test("has the permissions of a role of the configuration; a name that is no role has none", async () => {
    const auditor = await makeKey(db, of({ roles: ["auditor", "legal"] }));
    expect((await ask(list, auditor.text)).status).toBe(200);
    expect((await ask({ method: "GET", path: "/v1/workflows" }, auditor.text)).status).toBe(403);
  });

  test("of a later version may have permissions that are not known here", async () => {
    const key = await makeKey(db, of({ roles: [], permissions: ["runs:read", "moons:howl" as Permission] }));
    expect((await ask(list, key.text)).status).toBe(200);
  });

  test("is marked as used once, and a mark that fails refuses nobody", async () => {
    const key = await makeKey(db, of({}));
    failing = ["keys.mark-used"];
    expect((await ask(list, key.text)).status).toBe(200);
    expect(lines.at(-1)).toContain(`"keyId":"${key.keyId}"`);
    failing = [];
    for (let time = 0; time < 3; time += 1) await ask(list, key.text);
    expect(answered.filter((statement) => statement === "keys.mark-used")).toHaveLength(1);
  });

  test("cannot be told where the ledger is out of reach: 503, and not 401", async () => {
    failing = ["keys.by-id"];
    expect((await ask(list, admin.text)).status).toBe(503);
  });

  test("is in no line of the log, whatever happened", () => {
    const said = lines.join("\n");
    expect(said).not.toBe("");
    for (const { text } of [admin, foreign, expired, revoked, unknown]) {
      expect(said).not.toContain(text.slice(24, 60));
    }
  });
});

describe("an authenticator of the configuration", () => {
  const asked: string[] = [];
  const withAuth = (auth: (token: string) => Promise<unknown>) =>
    createFetch(
      defineConfig({
        workflows: [],
        roles: { auditor: ["runs:read"] },
        auth: (token) => {
          asked.push(token);
          return auth(token) as Promise<Principal | undefined>;
        },
      }),
      overrides,
    );
  const get = (fetch: ReturnType<typeof createFetch>, token: string, path = "/v1/runs") =>
    fetch(new Request(`http://127.0.0.1${path}`, { headers: { authorization: `Bearer ${token}` } }));

  test("is asked for every token that is no key of ours, and for no key", async () => {
    const fetch = withAuth((token) =>
      Promise.resolve(token === "theirs" ? of({ roles: ["auditor"] }) : undefined),
    );
    expect((await get(fetch, "theirs")).status).toBe(200);
    expect((await get(fetch, "theirs", "/v1/workflows")).status).toBe(403);
    expect((await get(fetch, "others")).status).toBe(401);
    expect((await get(fetch, admin.text)).status).toBe(200);
    expect((await get(fetch, revoked.text)).status).toBe(401);
    expect(asked).toEqual(["theirs", "theirs", "others"]);
  });

  test.each([
    ["no tenant", { tenantId: "", subject: "s", roles: [] }],
    ["no roles", { tenantId: "t", subject: "s" }],
    ["permissions in one text", { tenantId: "t", subject: "s", roles: [], permissions: "runs:read" }],
    ["true", true],
  ])("that answers with %s lets nobody in: it is the operator's to correct", async (_what, principal) => {
    const answer = await get(
      withAuth(() => Promise.resolve(principal)),
      "theirs",
    );
    expect(answer.status).toBe(500);
  });
});
