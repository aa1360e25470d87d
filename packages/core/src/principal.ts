import type { Issue } from "./errors.ts";
import { permissionsOf, type Permission, type RoleTable } from "./permissions.ts";

/** Who speaks, as verified by an authenticator. The tenant is never taken from anywhere else. */
export interface Principal {
  readonly tenantId: string;
  /** Such as "user:ada". */
  readonly subject: string;
  /** Names: sets of permissions where the table of roles knows them, and names alone where it does not. */
  readonly roles: readonly string[];
  /** Beside those of its roles. */
  readonly permissions?: readonly Permission[];
}

/** A principal with all that it may do, its roles' permissions among them. */
export interface Caller extends Principal {
  readonly permissions: readonly Permission[];
}

/** Answers with the verified principal of a bearer token, or undefined. Never throws for a bad token. */
export type Authenticator = (token: string) => Promise<Principal | undefined>;

export function callerOf(principal: Principal, roles: RoleTable): Caller {
  const { tenantId, subject } = principal;
  return { tenantId, subject, roles: principal.roles, permissions: permissionsOf(principal, roles) };
}

/** What keeps a value from being a principal: code of users makes them, and types alone hold nobody. */
export function principalIssues(value: unknown): readonly Issue[] {
  const given = (typeof value === "object" && value !== null ? value : {}) as Partial<
    Record<keyof Principal, unknown>
  >;
  const issue = (name: keyof Principal, message: string) => ({ path: `/principal/${name}`, message });
  return [
    ...(["tenantId", "subject"] as const)
      .filter((name) => typeof given[name] !== "string" || given[name] === "")
      .map((name) => issue(name, "is missing")),
    ...(isTexts(given.roles) ? [] : [issue("roles", "is no list of names")]),
    ...(given.permissions === undefined || isTexts(given.permissions)
      ? []
      : [issue("permissions", "is no list of names")]),
  ];
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
