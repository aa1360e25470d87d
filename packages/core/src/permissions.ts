/**
 * What a caller may be allowed to do, by noun. Closed: each is asked for by a route of the API, or by what a route's body
 * names, and a test finds one that is not. Whoever adds a route with an act of its own adds its permission here, and to the roles that are to have it.
 */
export const PERMISSIONS = [
  "runs:submit",
  "runs:read",
  "runs:release",
  "runs:cancel",
  "runs:resolve",
  "runs:clear",
  "runs:pause",
  "runs:redrive",
  "signals:send",
  "consents:read",
  "consents:decide",
  "attempts:read",
  "attempts:resolve",
  "workflows:read",
  "integrity:acknowledge",
  "deployment:pause",
  "deployment:reconcile",
  "deployment:integrity",
] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** What reaches beyond the caller's own tenant. No built-in role has it: a key gets it by name, from whoever owns the schema. */
export const DEPLOYMENT_PERMISSIONS: readonly Permission[] = [
  "deployment:pause",
  "deployment:reconcile",
  "deployment:integrity",
];

/** Permissions by the name of a role. A role that is not listed is a name and nothing more. */
export type RoleTable = Readonly<Record<string, readonly Permission[]>>;

/** Roles that mean the same in every deployment. A configuration adds others. */
export const BUILT_IN_ROLES = {
  admin: PERMISSIONS.filter((permission) => !DEPLOYMENT_PERMISSIONS.includes(permission)),
  operator: [
    "runs:submit",
    "runs:read",
    "runs:release",
    "runs:cancel",
    "runs:resolve",
    "runs:clear",
    "runs:pause",
    "runs:redrive",
    "signals:send",
    "consents:read",
    "attempts:read",
    "attempts:resolve",
    "workflows:read",
    "integrity:acknowledge",
  ],
  submitter: [
    "runs:submit",
    "runs:read",
    "runs:release",
    "runs:cancel",
    "signals:send",
    "consents:read",
    "attempts:read",
    "workflows:read",
  ],
  decider: ["runs:read", "consents:read", "consents:decide", "attempts:read", "workflows:read"],
  viewer: ["runs:read", "consents:read", "attempts:read", "workflows:read"],
} as const satisfies RoleTable;

/** Names of roles as a configuration and `ghouls keys` take them; an identity provider's may be any. */
export const ROLE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export function isPermission(text: string): text is Permission {
  return (PERMISSIONS as readonly string[]).includes(text);
}

/**
 * The permissions of a principal: those of its roles and its own. Names that are not known give none, so a key that a later
 * version made does not stop this one.
 */
export function permissionsOf(
  principal: { readonly roles: readonly string[]; readonly permissions?: readonly string[] },
  roles: RoleTable,
): readonly Permission[] {
  const given = principal.roles.flatMap((role) => (Object.hasOwn(roles, role) ? (roles[role] ?? []) : []));
  const all = new Set<string>([...given, ...(principal.permissions ?? [])]);
  return PERMISSIONS.filter((permission) => all.has(permission));
}
