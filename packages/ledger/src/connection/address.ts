import { GhoulsError } from "@ghouls/core";
import { parseIntoClientConfig } from "pg-connection-string";

/**
 * The parts of a connection string. What is wrong with it is said before anything connects, in words of ours: a parser's
 * may repeat the password, and so may a port that is the half of one.
 * @throws GhoulsError configuration_invalid
 */
export function addressOf(connectionString: string): ReturnType<typeof parseIntoClientConfig> {
  if (!/^postgres(?:ql)?:\/\//i.test(connectionString)) {
    throw invalid(
      /^[a-z][a-z\d+.-]*:\/\//i.test(connectionString) ? "has another scheme than postgres://" : "is no URL",
    );
  }
  let address: ReturnType<typeof parseIntoClientConfig>;
  try {
    address = parseIntoClientConfig(connectionString);
  } catch (error) {
    throw invalid(whyUnreadable(connectionString, error));
  }
  if (address.port !== undefined && !isPort(address.port)) throw invalid(PORT);
  return address;
}

const PORT = "has a port that is no number from 1 to 65535";

function whyUnreadable(connectionString: string, error: unknown): string {
  // A certificate or key that it names is read with it.
  if (error instanceof Error && "path" in error && "code" in error)
    return `names the file ${String(error.path)}, which cannot be read (${String(error.code)})`;
  const host = /^\w+:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(connectionString)?.[1] ?? "";
  const port = /:([^:\]]*)$/.exec(host)?.[1];
  return port !== undefined && port !== "" && !isPort(Number(port)) ? PORT : "cannot be read";
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}

function invalid(why: string): GhoulsError {
  return new GhoulsError("configuration_invalid", `the connection string ${why}`, {
    fix: "Write postgres://user:password@host:port/database, with / ? # % and @ in a password as %2F %3F %23 %25 and %40.",
  });
}
