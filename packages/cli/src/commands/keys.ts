import {
  API_KEY_BYTES,
  BUILT_IN_ROLES,
  PERMISSIONS,
  ROLE_NAME,
  isPermission,
  mintApiKey,
  parseApiKey,
  permissionsOf,
} from "@ghouls/core";
import type { ApiKey } from "@ghouls/ledger";
import { InvalidArgumentError, type Command } from "commander";
import { act, wholeNumber, type Context } from "../command.ts";
import { CommandError, EXIT, usageError } from "../failure.ts";
import type { Io } from "../io.ts";
import {
  lifetime,
  manage,
  plainText,
  revokedBefore,
  stateOf,
  withOwnersDatabase,
  type ManageOptions,
} from "../manage.ts";
import { jsonText, printable, table } from "../printable.ts";

interface CreateOptions extends ManageOptions {
  readonly tenant: string;
  readonly subject: string;
  readonly role?: readonly string[];
  readonly permission?: readonly string[];
  readonly expires?: number;
  readonly by?: string;
}

interface ListOptions extends ManageOptions {
  readonly tenant?: string;
  readonly limit: number;
}

interface RevokeOptions extends ManageOptions {
  readonly reason: string;
  readonly by?: string;
}

/** `ghouls keys`: makes, lists and revokes API keys, in the database itself: the first cannot come through the API. */
export function addKeys(program: Command, context: Context): void {
  const keys = program.command("keys").description("make, list and revoke API keys, in the database itself");
  addCreate(keys, context);
  addList(keys, context);
  addRevoke(keys, context);
}

function addCreate(keys: Command, context: Context): void {
  const command = withOwnersDatabase(keys.command("create"))
    .description("make a key and print it, once: only its digest is kept")
    .requiredOption("--tenant <name>", "tenant that the key is for", plainText(128))
    .requiredOption("--subject <name>", 'who speaks with it, such as "user:ada" or "ci"', plainText(200))
    .option("--role <name>", `${Object.keys(BUILT_IN_ROLES).join(", ")}, or any other name; repeatable`, role)
    .option("--permission <name>", `one of ${PERMISSIONS.join(", ")}; repeatable`, permission)
    .option("--expires <duration>", 'when it ends, such as "90d"; without, when it is revoked', lifetime)
    .option("--by <name>", "who makes it (else the database's role)", plainText(200));
  const options = () => command.opts<CreateOptions>();
  command.action(act(context, options, () => create(context.io, options())));
}

function addList(keys: Command, context: Context): void {
  const command = withOwnersDatabase(keys.command("list"))
    .description("list keys, newest first, with those that have ended")
    .option("--tenant <name>", "only this tenant's")
    .option("--limit <number>", "1 to 1000", wholeNumber(1, 1_000), 100);
  const options = () => command.opts<ListOptions>();
  command.action(act(context, options, () => list(context.io, options())));
}

function addRevoke(keys: Command, context: Context): void {
  const command = withOwnersDatabase(keys.command("revoke"))
    .description("end a key: it is refused from the next request on")
    .argument("<id>", "id of the key, or the key itself")
    .requiredOption("--reason <text>", "why; it is kept with the key", plainText(2_000))
    .option("--by <name>", "who revokes it (else the database's role)", plainText(200));
  const options = () => command.opts<RevokeOptions>();
  command.action(act(context, options, (id: string) => revoke(context.io, id, options())));
}

async function create(io: Io, options: CreateOptions): Promise<number> {
  const { tenant: tenantId, subject, role: roles = [], permission: permissions = [] } = options;
  if (roles.length + permissions.length === 0) {
    throw usageError("a key without a role and a permission may do nothing", "Give --role or --permission.");
  }
  const { keyId, text, digest } = mintApiKey(io.randomBytes(API_KEY_BYTES));
  const made = await manage(io, options, async ({ keys: store }) => {
    const [key] = await store.create([
      {
        tenantId,
        keyId,
        digest,
        subject,
        roles,
        permissions,
        createdBy: options.by ?? null,
        expiresInMs: options.expires ?? null,
      },
    ]);
    return key;
  });
  if (made === undefined) throw new CommandError("the key was not made", "Run the command again.");
  if (options.json === true) io.out(`${jsonText({ key: text, ...made })}\n`);
  else {
    // The key alone on stdout, so that it can be put where it is needed without a copy on the screen.
    io.err(explanationOf(made));
    io.out(`${text}\n`);
  }
  return EXIT.ok;
}

function explanationOf(key: ApiKey): string {
  const may = permissionsOf(
    { roles: key.roles, permissions: key.permissions.filter(isPermission) },
    BUILT_IN_ROLES,
  );
  const free = key.roles.filter((name) => !Object.hasOwn(BUILT_IN_ROLES, name));
  const lines = [
    `key ${key.keyId} of ${key.subject} in tenant ${key.tenantId}, ${key.expiresAt === null ? "without an end" : `until ${key.expiresAt.toISOString()}`}`,
    `may ${may.join(", ") || "nothing by itself"}`,
    ...free.map(
      (name) => `the role ${name} is not built in: it may do what \`roles\` of the configuration says`,
    ),
    "The next line is the key. It is not kept and cannot be shown again.",
  ];
  return lines.map((line) => `${printable(line)}\n`).join("");
}

async function list(io: Io, options: ListOptions): Promise<number> {
  const { tenant: tenantId, limit } = options;
  const filter = tenantId === undefined ? {} : { tenantId };
  const found = await manage(io, options, ({ keys: store }) => store.page(filter, limit + 1));
  const keys = found.slice(0, limit);
  const hasMore = found.length > limit;
  if (options.json === true) {
    io.out(`${jsonText({ keys, hasMore })}\n`);
    return EXIT.ok;
  }
  const time = (at: Date | null) => at?.toISOString() ?? "-";
  const rows = keys.map((key) => [
    stateOf(key),
    key.keyId,
    key.tenantId,
    key.subject,
    [...key.roles, ...key.permissions].join(","),
    time(key.createdAt),
    time(key.expiresAt),
    time(key.lastUsedAt),
  ]);
  io.out(table(["STATE", "KEY", "TENANT", "SUBJECT", "MAY", "CREATED", "EXPIRES", "LAST USED"], rows));
  if (hasMore) io.err(`There are more: --limit, at most 1000, or --tenant.\n`);
  return EXIT.ok;
}

async function revoke(io: Io, given: string, options: RevokeOptions): Promise<number> {
  const keyId = parseApiKey(given)?.keyId ?? given;
  const answer = await manage(io, options, ({ keys: store }) =>
    store.revoke(keyId, { actor: options.by ?? null, reason: options.reason }),
  );
  if (answer === null) {
    throw new CommandError("there is no such key", "`ghouls keys list` shows the ids of all keys.");
  }
  const { revoked, key } = answer;
  if (options.json === true) io.out(`${jsonText({ revoked, ...key })}\n`);
  else if (revoked) io.out(`revoked ${key.keyId} of ${printable(key.subject)}\n`);
  else io.out(revokedBefore(key));
  return EXIT.ok;
}

function role(text: string, before: readonly string[] = []): readonly string[] {
  if (!ROLE_NAME.test(text)) {
    throw new InvalidArgumentError("Give a name of letters, digits, '.', '_' and '-', at most 64.");
  }
  return [...before, text];
}

function permission(text: string, before: readonly string[] = []): readonly string[] {
  if (!isPermission(text)) throw new InvalidArgumentError(`It is none of ${PERMISSIONS.join(", ")}.`);
  return [...before, text];
}
