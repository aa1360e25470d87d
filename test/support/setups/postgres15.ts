import { execFileSync } from "node:child_process";
import { chownSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { freePort } from "../free-port.ts";
import { createTemplate } from "../template.ts";
import { POSTGRES_15, serverUser, startServer } from "./binaries.ts";
import { IN_ITS_FOLDER, serverFolder } from "./folder.ts";

/** The oldest PostgreSQL that is supported, as Debian 12 has it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = serverFolder();
  const port = await freePort();
  const owner = serverUser();
  const data = join(folder, "data");
  const password = join(folder, "password");
  mkdirSync(data);
  writeFileSync(password, "admin\n");
  if (owner !== undefined) for (const path of [data, password]) chownSync(path, owner.uid, owner.gid);
  execFileSync(
    join(POSTGRES_15, "initdb"),
    ["-D", data, "-U", "postgres", `--pwfile=${password}`, "--auth=scram-sha-256", "-E", "UTF8", "--no-sync"],
    { stdio: "pipe", cwd: folder, ...owner },
  );
  const settings = [
    `port=${port}`,
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=off",
    "max_connections=200",
    IN_ITS_FOLDER,
  ];
  const args = ["-D", data, ...settings.flatMap((setting) => ["-c", setting])];
  const server = await startServer(join(POSTGRES_15, "postgres"), args, port, owner);
  await recovered(port);
  await createTemplate(port);
  project.provide("postgres", { host: "127.0.0.1", port, adminPassword: "admin" });
  project.provide("way", "postgres15");
  return async () => {
    await server.stop("SIGINT");
    rmSync(folder, { recursive: true, force: true });
  };
}

/** It listens before it lets anybody in. */
async function recovered(port: number): Promise<void> {
  for (;;) {
    const client = new pg.Client({
      connectionString: `postgres://postgres:admin@127.0.0.1:${port}/postgres`,
    });
    const error: unknown = await client.connect().then(
      () => undefined,
      (refused: unknown) => refused,
    );
    await client.end();
    if (error === undefined) return;
    if (!(error instanceof Error && "code" in error && error.code === "57P03")) throw error;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
