import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { GhoulsError } from "@ghouls/core";
import { commandOf, signalIfAlive, untilGone } from "ghouls/processes/alive";
import type { Child } from "ghouls/processes/child";
import { describeEnd, endChild, startChild, untilReady } from "ghouls/processes/child";
import { entryPoint } from "./entry-point.ts";
import { serviceEnvironment, serviceUrlVariable } from "./child-environment.ts";
import { readIfThere, writeAtomically } from "ghouls/processes/files";
import type { HostLog } from "./log.ts";
import { allOrNothing } from "./owner.ts";
import type { Beside } from "./parts.ts";
import type { ProcessEntry } from "./state.ts";

/** A service that dies at once is not started again at once for ever. */
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** Whoever was up so long does not die of how it starts. */
const STEADY_MS = 60_000;
const READY_MS = 60_000;
const STOP_MS = 2_000;

export interface ServicesOptions {
  readonly services: Beside["services"];
  readonly env: NodeJS.ProcessEnv;
  readonly dataDir: string;
  readonly log: HostLog;
  /** Told whenever one of their processes comes or goes. */
  readonly onChange: () => void;
  /** How long one may take to say that it is ready, in milliseconds; a minute by default. */
  readonly readyMs?: number;
}

/** The services of the user's project, each in a process of its own that is started again when it dies. */
export interface Services {
  /** Where each listens: by the variable that functions find it in. Those that the user runs himself are not among them. */
  readonly urls: Readonly<Record<string, string>>;
  processes(): readonly ProcessEntry[];
  stop(): Promise<void>;
  kill(): void;
}

/** Starts them all. @throws GhoulsError where one cannot start; then none is left */
export async function startServices(options: ServicesOptions): Promise<Services> {
  const ours = Object.entries(options.services).filter(([name]) => !options.env[serviceUrlVariable(name)]);
  const folder = join(options.dataDir, "services");
  const portsFile = join(folder, "ports.json");
  if (ours.length > 0) await mkdir(folder, { recursive: true, mode: 0o700 });
  const ports = readPorts(await readIfThere(portsFile));
  const started: Kept[] = [];
  try {
    await allOrNothing(
      ours.map(async ([name, { module }]) => {
        started.push(
          await keep({ ...options, name, module, folder: join(folder, name), port: ports[name] ?? 0 }),
        );
      }),
    );
    const now = Object.fromEntries(started.map(({ name, port }) => [name, port]));
    if (ours.length > 0) await writeAtomically(portsFile, `${JSON.stringify({ ...ports, ...now })}\n`);
  } catch (error) {
    await Promise.all(started.map((one) => one.stop()));
    throw error;
  }
  return {
    urls: Object.fromEntries(
      started.map(({ name, port }) => [serviceUrlVariable(name), `http://127.0.0.1:${port}`]),
    ),
    processes: () => started.flatMap((one) => one.process()),
    stop: async () => {
      await Promise.all(started.map((one) => one.stop()));
    },
    kill: () => {
      for (const one of started) one.kill();
    },
  };
}

/** Ports of an earlier start. They are a wish only: a file that says something else is worth none. */
function readPorts(text: string | undefined): Readonly<Record<string, number>> {
  try {
    const ports = JSON.parse(text ?? "{}") as Record<string, unknown>;
    return Object.fromEntries(
      Object.entries(ports).filter((entry): entry is [string, number] => isPort(entry[1])),
    );
  } catch {
    return {};
  }
}

function isPort(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) > 0 && Number(value) < 65_536;
}

interface KeepOptions extends Pick<ServicesOptions, "env" | "log" | "onChange" | "readyMs"> {
  readonly name: string;
  readonly module: string;
  /** Where it keeps what it keeps. */
  readonly folder: string;
  /** The port that it had last time; 0 for none. */
  readonly port: number;
}

/** A service that is kept up. */
interface Kept {
  readonly name: string;
  readonly port: number;
  /** Its process; none while it is down. */
  process(): readonly ProcessEntry[];
  stop(): Promise<void>;
  kill(): void;
}

async function keep(options: KeepOptions): Promise<Kept> {
  const { name, module, folder, log, onChange } = options;
  if (!existsSync(module)) {
    throw new GhoulsError("configuration_invalid", `the service ${name} has no module at ${module}`, {
      fix: `Name it in dev.services.${name}.module, relative to the configuration.`,
    });
  }
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const stopping = new AbortController();
  let current: Child | undefined;
  const begin = async (port: number): Promise<{ readonly child: Child; readonly port: number }> => {
    const env = serviceEnvironment(options.env, { port, dataDir: folder });
    const child = startChild({ source: name, entry: entryPoint("service"), args: [module], env, log });
    current = child;
    void child.ended.then(() => {
      current = undefined;
      onChange();
    });
    try {
      return { child, port: await readyPort(child, name, options.readyMs ?? READY_MS) };
    } catch (error) {
      await endChild(child, "SIGKILL", STOP_MS);
      throw error;
    }
  };
  const first = await begin(options.port !== 0 && (await isFree(options.port)) ? options.port : 0);
  const { port } = first;
  const again = async (): Promise<Child> => {
    const next = await begin(port);
    if (next.port === port) return next.child;
    await endChild(next.child, "SIGKILL", STOP_MS);
    throw new Error(`it listens on port ${next.port}, and functions know ${port}`);
  };
  const say = (text: string): void => log.line("host", `the service ${name} ${text}`);
  const keeping = keepUp(first.child, again, say, stopping.signal, onChange);
  return {
    name,
    port,
    process: () => (current === undefined ? [] : [{ role: name, pid: current.pid }]),
    stop: async () => {
      stopping.abort();
      if (current !== undefined) await endChild(current, "SIGTERM", STOP_MS);
      await keeping;
    },
    kill: () => {
      stopping.abort();
      current?.kill("SIGKILL");
    },
  };
}

/** Starts it again whenever it has ended, after a pause that grows while it does not stay up. */
async function keepUp(
  first: Child,
  again: () => Promise<Child>,
  say: (text: string) => void,
  stopping: AbortSignal,
  onChange: () => void,
): Promise<void> {
  let pauseMs = FIRST_PAUSE_MS;
  let up: Child | undefined = first;
  let how = "";
  for (;;) {
    if (up !== undefined) {
      const since = performance.now();
      how = `ended: ${describeEnd(await up.ended)}`;
      if (performance.now() - since >= STEADY_MS) pauseMs = FIRST_PAUSE_MS;
    }
    if (stopping.aborted) return;
    say(`${how}; it is started again in ${pauseMs} ms`);
    await delay(pauseMs, undefined, { signal: stopping }).catch(() => undefined);
    if (stopping.aborted) return;
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    up = await again().catch((error: Error) => {
      how = `cannot be started: ${error.message}`;
      return undefined;
    });
    if (up === undefined) continue;
    say("is up again");
    onChange();
  }
}

/** Where it says that it listens. @throws GhoulsError where it ends before, or says nothing in time */
async function readyPort(child: Child, name: string, readyMs: number): Promise<number> {
  const fix =
    'Let it say process.send?.({ type: "ready", port }) once it listens on 127.0.0.1, on the port PORT.';
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    child.kill("SIGKILL");
  }, readyMs);
  try {
    const { port } = await untilReady(child, `the service ${name}`);
    if (isPort(port)) return port;
  } catch (error) {
    if (!late) throw error;
  } finally {
    clearTimeout(timer);
  }
  throw new GhoulsError("internal", `the service ${name} does not say where it listens`, { fix });
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = once(server, "listening").then(
    () => true,
    () => false,
  );
  server.listen(port, "127.0.0.1");
  const free = await listening;
  if (free) {
    server.close();
    await once(server, "close");
  }
  return free;
}

/** Makes sure that the services of a host that was killed are gone: they may hold the ports that are wished for. */
export async function endLeftServices(entries: readonly ProcessEntry[]): Promise<void> {
  await Promise.all(
    entries.map(async ({ pid }) => {
      if (pid <= 0 || !(await commandOf(pid)).includes("/process/service.")) return;
      signalIfAlive(pid, "SIGKILL");
      await untilGone(pid, 5_000);
    }),
  );
}
