import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { connect } from "node:net";

/** Debian's; they lie outside of PATH. */
export const POSTGRES_15 = "/usr/lib/postgresql/15/bin";
export const PGBOUNCER = "/usr/sbin/pgbouncer";

/** What a project needs on this machine, and the package that has it. */
export const NEEDS = {
  postgres15: { file: `${POSTGRES_15}/postgres`, package: "postgresql-15" },
  pgbouncer: { file: PGBOUNCER, package: "pgbouncer" },
} as const;

export function isInstalled(project: keyof typeof NEEDS): boolean {
  return existsSync(NEEDS[project].file);
}

/** The user that servers run as where this process is root, which they refuse to be; undefined where it is not. */
export function serverUser():
  | { readonly name: string; readonly uid: number; readonly gid: number }
  | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { name: "postgres", uid: id("-u"), gid: id("-g") };
}

export interface Server {
  /** Sends the signal and waits until the process has ended. */
  stop(signal: NodeJS.Signals): Promise<void>;
}

/** Starts a server and waits until its port listens; it does not outlive this process. */
export async function startServer(
  command: string,
  args: readonly string[],
  port: number,
  owner?: { readonly uid: number; readonly gid: number },
): Promise<Server> {
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"], ...owner });
  let said = "";
  child.stderr.on("data", (data: Buffer) => {
    said = `${said}${data.toString()}`.slice(-2_000);
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const kill = () => void child.kill("SIGKILL");
  process.once("exit", kill);
  await listening(child, port).catch((error: unknown) => {
    kill();
    throw new Error(`${command} did not start: ${said}`, { cause: error });
  });
  return {
    stop: async (signal) => {
      child.kill(signal);
      await ended;
      process.removeListener("exit", kill);
    },
  };
}

async function listening(child: ChildProcess, port: number): Promise<void> {
  const end = performance.now() + 20_000;
  while (child.exitCode === null && performance.now() < end) {
    const answered = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1");
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
      socket.once("close", () => socket.destroy());
      socket.once("connect", () => socket.end());
    });
    if (answered) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(child.exitCode === null ? "it does not listen" : `it ended with ${child.exitCode}`);
}
