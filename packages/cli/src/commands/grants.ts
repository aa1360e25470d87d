import type { GrantRow } from "@ghouls/ledger";
import { InvalidArgumentError, type Command } from "commander";
import { act, wholeNumber, type Context } from "../command.ts";
import { CommandError, EXIT } from "../failure.ts";
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
  readonly holder: string;
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

/** `ghouls grants`: makes, lists and revokes the capabilities that hops may hold, in the database itself. */
export function addGrants(program: Command, context: Context): void {
  const grants = program
    .command("grants")
    .description("make, list and revoke the capabilities that runs may hold, in the database itself");
  addCreate(grants, context);
  addList(grants, context);
  addRevoke(grants, context);
}

function addCreate(grants: Command, context: Context): void {
  const command = withOwnersDatabase(grants.command("create"))
    .description("let the runs of somebody, or of a role, hold a capability")
    .argument("<name>", 'the capability, as a workflow lists it, such as "reports:write"', plainText(200))
    .requiredOption("--tenant <name>", "tenant that it is for", plainText(128))
    .requiredOption("--holder <holder>", '"user:<subject of a key>" or "role:<name>"', holder)
    .option("--expires <duration>", 'when it ends, such as "90d"; without, when it is revoked', lifetime)
    .option("--by <name>", "who makes it (else the database's role)", plainText(200));
  const options = () => command.opts<CreateOptions>();
  command.action(act(context, options, (name: string) => create(context.io, name, options())));
}

function addList(grants: Command, context: Context): void {
  const command = withOwnersDatabase(grants.command("list"))
    .description("list grants, newest first, with those that have ended")
    .option("--tenant <name>", "only this tenant's")
    .option("--limit <number>", "1 to 1000", wholeNumber(1, 1_000), 100);
  const options = () => command.opts<ListOptions>();
  command.action(act(context, options, () => list(context.io, options())));
}

function addRevoke(grants: Command, context: Context): void {
  const command = withOwnersDatabase(grants.command("revoke"))
    .description("end a grant: no hop that starts from then on gets it")
    .argument("<id>", "id of the grant")
    .requiredOption("--reason <text>", "why; it is kept with the grant", plainText(2_000))
    .option("--by <name>", "who revokes it (else the database's role)", plainText(200));
  const options = () => command.opts<RevokeOptions>();
  command.action(act(context, options, (id: string) => revoke(context.io, id, options())));
}

const ID_BYTES = 8;

async function create(io: Io, name: string, options: CreateOptions): Promise<number> {
  const grantId = Buffer.from(io.randomBytes(ID_BYTES)).toString("hex");
  const made = await manage(io, options, ({ grants }) =>
    grants.create({
      tenantId: options.tenant,
      grantId,
      name,
      holder: options.holder,
      createdBy: options.by ?? null,
      expiresInMs: options.expires ?? null,
    }),
  );
  if (options.json === true) io.out(`${jsonText(made)}\n`);
  else {
    io.err(`${printable(explanationOf(made))}\n`);
    io.out(`${made.grantId}\n`);
  }
  return EXIT.ok;
}

function explanationOf({ grantId, name, holder: who, tenantId, expiresAt }: GrantRow): string {
  const until = expiresAt === null ? "without an end" : `until ${expiresAt.toISOString()}`;
  return `grant ${grantId}: runs of ${who} in tenant ${tenantId} may hold ${name}, ${until}`;
}

async function list(io: Io, options: ListOptions): Promise<number> {
  const { tenant: tenantId, limit } = options;
  const filter = tenantId === undefined ? {} : { tenantId };
  const found = await manage(io, options, (stores) => stores.grants.page(filter, limit + 1));
  const grants = found.slice(0, limit);
  const hasMore = found.length > limit;
  if (options.json === true) {
    io.out(`${jsonText({ grants, hasMore })}\n`);
    return EXIT.ok;
  }
  const rows = grants.map((grant) => [
    stateOf(grant),
    grant.grantId,
    grant.tenantId,
    grant.name,
    grant.holder,
    grant.createdAt.toISOString(),
    grant.expiresAt?.toISOString() ?? "-",
  ]);
  io.out(table(["STATE", "GRANT", "TENANT", "NAME", "HOLDER", "CREATED", "EXPIRES"], rows));
  if (hasMore) io.err("There are more: --limit, at most 1000, or --tenant.\n");
  return EXIT.ok;
}

async function revoke(io: Io, grantId: string, options: RevokeOptions): Promise<number> {
  const answer = await manage(io, options, ({ grants }) =>
    grants.revoke(grantId, { actor: options.by ?? null, reason: options.reason }),
  );
  if (answer === null) {
    throw new CommandError("there is no such grant", "`ghouls grants list` shows the ids of all grants.");
  }
  const { revoked, grant } = answer;
  if (options.json === true) io.out(`${jsonText({ revoked, ...grant })}\n`);
  else if (revoked) io.out(`revoked ${grant.grantId}: ${printable(`${grant.name} of ${grant.holder}`)}\n`);
  else io.out(revokedBefore(grant));
  return EXIT.ok;
}

function holder(text: string): string {
  if (!/^(user|role):./.test(text))
    throw new InvalidArgumentError('Give "user:<subject of a key>", such as "user:ada", or "role:<name>".');
  return plainText(200)(text);
}
