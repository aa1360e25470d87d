import { chownSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { freePort } from "../free-port.ts";
import { APPLICATION } from "../template.ts";
import { PGBOUNCER, serverUser, startServer } from "./binaries.ts";
import { serverFolder } from "./folder.ts";
import { startPostgres18 } from "./postgres18.ts";

/** The application's role goes through Debian's pgbouncer in transaction mode; everybody else goes to PostgreSQL. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await startPostgres18();
  const folder = serverFolder();
  const port = await freePort();
  const owner = serverUser();
  const users = join(folder, "users.txt");
  const settings = join(folder, "pgbouncer.ini");
  writeFileSync(users, `"${APPLICATION.name}" "${APPLICATION.password}"\n`);
  writeFileSync(
    settings,
    [
      "[databases]",
      `* = host=127.0.0.1 port=${postgres.server.port}`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${port}`,
      "unix_socket_dir =",
      "pool_mode = transaction",
      "auth_type = scram-sha-256",
      `auth_file = ${users}`,
      "max_client_conn = 500",
      "default_pool_size = 10",
      // Every test file has a database of its own: connections that nobody uses go.
      "server_idle_timeout = 5",
      "",
    ].join("\n"),
  );
  if (owner !== undefined) for (const path of [users, settings]) chownSync(path, owner.uid, owner.gid);
  const bouncer = await startServer(
    PGBOUNCER,
    ["-q", ...(owner === undefined ? [] : ["-u", owner.name]), settings],
    port,
  );
  const application = { host: "127.0.0.1", port };
  project.provide("postgres", { ...postgres.server, application, preparedStatements: false });
  project.provide("way", "pgbouncer");
  return async () => {
    await bouncer.stop("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
    await postgres.stop();
  };
}
