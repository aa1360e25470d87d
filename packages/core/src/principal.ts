/** Who speaks, as verified by an authenticator. The tenant is never taken from anywhere else. */
export interface Principal {
  readonly tenantId: string;
  readonly subject: string;
  readonly roles: readonly string[];
}

export const PERMISSIONS = [
  "runs:admit",
  "runs:release",
  "runs:cancel",
  "runs:resolve",
  "runs:read",
  "workflows:read",
] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** What each role may do. A role that is not listed may do nothing. */
const ROLE_PERMISSIONS: Readonly<Record<string, readonly Permission[]>> = {
  operator: PERMISSIONS,
  submitter: ["runs:admit", "runs:release", "runs:cancel", "runs:read", "workflows:read"],
  decider: ["runs:read", "workflows:read"],
};

export function mayDo(principal: Principal, permission: Permission): boolean {
  return principal.roles.some(
    (role) => Object.hasOwn(ROLE_PERMISSIONS, role) && ROLE_PERMISSIONS[role]?.includes(permission),
  );
}

/** Answers with the verified principal of a bearer token, or undefined. Never throws for a bad token. */
export type Authenticator = (token: string) => Promise<Principal | undefined>;
