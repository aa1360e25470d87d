import { describe, expect, test } from "vitest";
import { BUILT_IN_ROLES, DEPLOYMENT_PERMISSIONS, PERMISSIONS, permissionsOf } from "./permissions.ts";
import { callerOf, principalIssues } from "./principal.ts";

describe("permissions", () => {
  const of = (roles: string[], permissions?: string[], table = BUILT_IN_ROLES) =>
    permissionsOf({ roles, ...(permissions === undefined ? {} : { permissions }) }, table);

  test("are those of all roles and one's own, each once and in the list's order", () => {
    expect(of(["admin", "viewer"], [...DEPLOYMENT_PERMISSIONS])).toEqual(PERMISSIONS);
    expect(of(["viewer"], ["runs:cancel", "runs:read"])).toEqual([
      "runs:read",
      "runs:cancel",
      "consents:read",
      "attempts:read",
      "workflows:read",
    ]);
    expect(of([], ["runs:submit"])).toEqual(["runs:submit"]);
    expect(of(["decider"])).not.toContain("runs:submit");
  });

  test("that reach beyond a tenant come with no built-in role, and with their own name alone", () => {
    expect(DEPLOYMENT_PERMISSIONS).toEqual([
      "deployment:pause",
      "deployment:reconcile",
      "deployment:integrity",
    ]);
    const given = of(Object.keys(BUILT_IN_ROLES));
    expect(given).toEqual(PERMISSIONS.filter((one) => !DEPLOYMENT_PERMISSIONS.includes(one)));
    expect(of([], ["deployment:pause"])).toEqual(["deployment:pause"]);
  });

  test.each(["legal", "constructor", "__proto__", "toString", "", "Operator", "operator "])(
    "are none for a role that the table does not list: %j",
    (role) => {
      expect(of([role])).toEqual([]);
    },
  );

  test("that this version does not know give nothing, and take nothing", () => {
    expect(of(["viewer"], ["runs:*", "*", "moons:howl"])).toEqual([
      "runs:read",
      "consents:read",
      "attempts:read",
      "workflows:read",
    ]);
  });

  test("of a caller are complete, and nothing else of the principal is carried along", () => {
    const principal = { tenantId: "t", subject: "user:ada", roles: ["viewer", "legal"], password: "canary" };
    expect(callerOf(principal, BUILT_IN_ROLES)).toEqual({
      tenantId: "t",
      subject: "user:ada",
      roles: ["viewer", "legal"],
      permissions: ["runs:read", "consents:read", "attempts:read", "workflows:read"],
    });
  });
});

describe("a principal that somebody's code made", () => {
  const whole = { tenantId: "t", subject: "s", roles: [] };

  test("is taken whole", () => {
    expect(principalIssues(whole)).toEqual([]);
    expect(principalIssues({ ...whole, permissions: ["runs:read"] })).toEqual([]);
  });

  test.each([
    ["no object", "admin", ["tenantId", "subject", "roles"]],
    ["null", null, ["tenantId", "subject", "roles"]],
    ["an empty tenant", { ...whole, tenantId: "" }, ["tenantId"]],
    ["a subject that is no text", { ...whole, subject: 7 }, ["subject"]],
    ["a role instead of a list", { ...whole, roles: "operator" }, ["roles"]],
    // `"runs:cancel,runs:read".includes("runs:read")` would be true.
    ["permissions in one text", { ...whole, permissions: "runs:cancel,runs:read" }, ["permissions"]],
    ["a list with something else in it", { ...whole, roles: [null] }, ["roles"]],
  ])("is refused with %s", (_what, value, names) => {
    expect(principalIssues(value).map(({ path }) => path)).toEqual(names.map((name) => `/principal/${name}`));
  });
});
