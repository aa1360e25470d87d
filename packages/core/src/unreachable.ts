/** What keeps a process from its database, in words of ours: a driver's may repeat what it was given. */
export interface Unreachable {
  readonly code: string;
  readonly message: string;
  readonly fix: string;
  /** Whether it may be otherwise in a while. What was written wrongly stays so. */
  readonly passes: boolean;
}

/** Undefined for what has no code that we know. */
export function unreachableDatabase(cause: unknown): Unreachable | undefined {
  const code = typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : "";
  const known = Object.entries(KNOWN).find(([pattern]) => new RegExp(`^(?:${pattern})$`).test(code));
  if (known === undefined) return undefined;
  const [what, fix, passes] = known[1];
  return { code, message: `${what} (${code})`, fix, passes };
}

/** By codes of the system, of TLS and of PostgreSQL. A name may be unknown only until a network is there. */
const KNOWN: Readonly<Record<string, readonly [string, string, boolean]>> = {
  ENOTFOUND: [
    "the database's host has no address",
    "Check the host in the connection string: it may be spelled wrongly, or known in another network only.",
    true,
  ],
  "ECONNREFUSED|ECONNRESET|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH": [
    "the database did not answer",
    "Check host and port in the connection string, and that the server is running and can be reached from here.",
    true,
  ],
  "28P01|28000": [
    "the database refused the user or the password",
    "Check both in the connection string: / ? # % and @ in a password are written %2F %3F %23 %25 and %40.",
    false,
  ],
  "3D000": [
    "there is no such database on the server",
    "Create it, or check the path of the connection string.",
    false,
  ],
  ".*(?:CERT|ISSUER|VERIFY|ALTNAME|SIGNATURE).*": [
    "the database's certificate is not trusted",
    "Name the file of its authority with ?sslmode=verify-full&sslrootcert=/path/to/ca.pem.",
    false,
  ],
};
