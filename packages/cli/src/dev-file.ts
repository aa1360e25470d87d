import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { createClient, type GhoulsClient } from "@ghouls/client";
import * as z from "zod";
import { CommandError } from "./failure.ts";
import type { Io } from "./io.ts";

/** What `ghouls dev` leaves in its data folder while it runs (design.md §6). */
const DevFile = z.object({
  apiUrl: z.string(),
  consoleUrl: z.string().optional(),
  databaseUrl: z.string().optional(),
  migrationUrl: z.string().optional(),
  databaseSchema: z.string().default("ghouls"),
  /** What the host has started, with itself. */
  processes: z.array(z.object({ role: z.string(), pid: z.int().positive() })).default([]),
  /** Digests of what runs, by `<name>@<version>`. */
  code: z.object({ workflows: z.record(z.string(), z.string()) }).optional(),
  /** What the check of replays has found. */
  notices: z.array(z.object({ runId: z.string(), message: z.string(), fix: z.string() })).default([]),
  tokens: z
    .object({ operator: z.string(), submitter: z.string(), decider: z.string() })
    .partial()
    .default({}),
});
type DevFile = z.infer<typeof DevFile>;

export interface ConnectionOptions {
  readonly api?: string;
  readonly dataDir: string;
}

/**
 * The dev.json of a data folder, or undefined where there is none.
 * @throws CommandError where it is not readable as one
 */
export async function readDevFile(io: Io, dataDir: string): Promise<DevFile | undefined> {
  const path = resolve(io.cwd, dataDir, "dev.json");
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (isNoFile(error)) return undefined;
    throw error;
  }
  try {
    return DevFile.parse(JSON.parse(text));
  } catch {
    throw new CommandError(
      `${path} is not a file that \`ghouls dev\` wrote`,
      "Delete it and start `ghouls dev` again.",
    );
  }
}

/**
 * Whether a dev.json is left of a host that was killed, whose own database ended with it. A database that the host was given
 * goes on.
 */
export function isLeftBehind({ processes }: DevFile): boolean {
  const host = processes.find(({ role }) => role === "host");
  return host !== undefined && processes.some(({ role }) => role === "postgres") && !isRunning(host.pid);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Whether an error says that a file, or the folder it would be in, is not there. */
export function isNoFile(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}

/**
 * A client of the API that the options, the environment or the running `ghouls dev` name, in this order.
 * @throws CommandError where no address or no token is known
 */
export async function connect(
  io: Io,
  options: ConnectionOptions,
  role: "operator" | "submitter" | "decider",
): Promise<GhoulsClient> {
  const dev = await readDevFile(io, options.dataDir);
  const baseUrl = options.api ?? given(io, "GHOULS_API_URL") ?? dev?.apiUrl;
  if (baseUrl === undefined) {
    throw new CommandError(
      `no API is known: ${options.dataDir} has no dev.json, and GHOULS_API_URL is not set`,
      "Start `ghouls dev` in this folder, or set GHOULS_API_URL (or --api) and GHOULS_TOKEN.",
    );
  }
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol)) {
    throw new CommandError(`"${baseUrl}" is no address of an API`, "Write it like http://127.0.0.1:4700.", 2);
  }
  const token = given(io, "GHOULS_TOKEN") ?? dev?.tokens[role];
  if (token === undefined) {
    throw new CommandError(`no token is known for ${baseUrl}`, "Set GHOULS_TOKEN to a token of that API.");
  }
  // A host on this machine streams itself; on AWS a function of its own does.
  const eventsUrl = given(io, "GHOULS_EVENTS_URL") ?? (baseUrl === dev?.apiUrl ? baseUrl : undefined);
  return createClient({ baseUrl, token, ...(eventsUrl === undefined ? {} : { eventsUrl }) });
}

/** A variable of the environment; an empty one counts as not set. */
export function given(io: Io, name: string): string | undefined {
  const value = io.env[name];
  return value === undefined || value === "" ? undefined : value;
}
