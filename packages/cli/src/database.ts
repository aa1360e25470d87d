import { databaseAccess } from "@ghouls/aws";
import { noFaults } from "@ghouls/core";
import { DRIVERS } from "@ghouls/ledger";
import { given } from "./dev-file.ts";
import { usageError } from "./failure.ts";
import type { DatabaseConnection, Io } from "./io.ts";

/** The variables of one role: those of the application have no prefix. */
type VariablePrefix = "" | "GHOULS_MIGRATION_";

/**
 * A database that an option names, or the variables with one of the prefixes, the first that has any. Undefined where
 * nothing names one.
 * @throws CommandError for a driver or a way to sign in that is not known
 */
export function namedDatabase(
  io: Io,
  option: string | undefined,
  prefixes: readonly VariablePrefix[],
): DatabaseConnection | undefined {
  if (option !== undefined) return { connectionString: option, ...driverOf(io) };
  const prefix = prefixes.find((one) => urlOf(io, one) !== undefined || secretOf(io, one) !== undefined);
  if (prefix === undefined) return undefined;
  const auth = given(io, `${prefix}DATABASE_AUTH`) ?? "password";
  if (auth !== "password" && auth !== "iam") {
    throw usageError(`${prefix}DATABASE_AUTH is "${auth}"`, 'Set it to "password" or "iam".');
  }
  const endpoint = given(io, "AWS_ENDPOINT_URL_SECRETS_MANAGER") ?? given(io, "AWS_ENDPOINT_URL");
  const access = databaseAccess(
    {
      url: urlOf(io, prefix),
      secretId: secretOf(io, prefix),
      auth,
      region: given(io, "AWS_REGION") ?? "us-east-1",
      ...(endpoint === undefined ? {} : { endpoint }),
    },
    { clock: { monotonicMs: () => performance.now(), wallMs: () => Date.now() }, faults: noFaults },
  );
  return { ...access, ...driverOf(io) };
}

function urlOf(io: Io, prefix: VariablePrefix): string | undefined {
  return given(io, `${prefix}DATABASE_URL`);
}

function secretOf(io: Io, prefix: VariablePrefix): string | undefined {
  return given(io, `${prefix}DATABASE_SECRET_ARN`);
}

function driverOf(io: Io): Pick<DatabaseConnection, "driver" | "neonProxy"> {
  const name = given(io, "DATABASE_DRIVER");
  const driver = DRIVERS.find((one) => one === name);
  if (name !== undefined && driver === undefined) {
    throw usageError(`DATABASE_DRIVER is "${name}"`, `Set it to one of: ${DRIVERS.join(", ")}.`);
  }
  const neonProxy = given(io, "NEON_WS_PROXY");
  return {
    ...(driver === undefined ? {} : { driver }),
    ...(neonProxy === undefined ? {} : { neonProxy }),
  };
}
