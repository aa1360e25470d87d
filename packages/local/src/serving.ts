import { openSite } from "@ghouls/console";
import type { QueuePort } from "@ghouls/core";
import type { ApiProcess } from "./api.ts";
import { startApi } from "./api.ts";
import type { Board } from "./board.ts";
import { describeEnd } from "ghouls/processes/child";
import type { Code, CodeStore, KeptCode } from "./code.ts";
import type { Functions, Inspect } from "./functions.ts";
import { startFunctions } from "./functions.ts";
import { openGateway } from "./gateway.ts";
import type { Gateway } from "./gateway.ts";
import type { HostLog } from "./log.ts";
import { allOrNothing } from "./owner.ts";
import type { Releasing } from "./releases.ts";
import type { Sources } from "./sources.ts";
import { openSources } from "./sources.ts";
import type { ProcessEntry } from "./state.ts";

/** The longest timer of Node: what is under way ends by itself, or by the limit of its invocation. */
const AS_LONG_AS_IT_TAKES_MS = 2 ** 31 - 1;

export interface ServingOptions {
  readonly handlers: string;
  readonly configPath: string;
  readonly codes: CodeStore;
  /** The user's port of the API. */
  readonly port: number | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly log: HostLog;
  readonly board: Board;
  readonly queuePort: QueuePort;
  readonly queueUrls: Readonly<Record<string, string>>;
  readonly region: string;
  readonly reconcileEveryMs: number;
  readonly drainMs: number;
  /** Publishes code that begins to run; it is not published where this is undefined. */
  readonly releasing: ((code: KeptCode) => Releasing) | undefined;
  readonly onWorkerEnd: (worker: string, how: string) => void;
  readonly inspect?: Inspect;
}

/** The processes of one code. */
interface Generation {
  readonly code: KeptCode;
  readonly api: ApiProcess;
  readonly functions: Functions;
  readonly releasing: Releasing | undefined;
}

/** The API and the functions, whose processes can be replaced by ones with other code. */
export interface Serving {
  readonly url: string;
  /** Where the console is; undefined where it was not built. */
  readonly consoleUrl: string | undefined;
  /** Resolves with the reason, where there is no API any more and nobody has asked for that. */
  readonly broken: Promise<string>;
  /** Lets messages and the schedule in. */
  open(): Promise<void>;
  /**
   * Starts the processes of another code, and lets those before hand over what they carry: no step is cut off.
   * @throws GhoulsError where a process cannot load it; then all is as it was
   */
  replace(code: Code): Promise<void>;
  stop(): Promise<void>;
  kill(): void;
}

/**
 * Starts the processes of the first code. They are told the address of the API, so its port is taken before.
 * @throws GhoulsError where one cannot start; then none is left
 */
export async function startServing(options: ServingOptions, first: Code): Promise<Serving> {
  // This host streams events itself, at the same address.
  const site = await openSite({ config: { apiUrl: "", eventsUrl: "" } });
  const gateway = await openGateway(options.port, undefined, site);
  const consoleUrl = site === undefined ? undefined : gateway.url;
  try {
    // A user whose services are elsewhere names an address that they can reach.
    const publicUrl = options.env["GHOULS_PUBLIC_URL"] || gateway.url;
    const env = { ...options.env, GHOULS_PUBLIC_URL: publicUrl };
    return { ...(await startBehind(gateway, consoleUrl, { ...options, env }, first)), consoleUrl };
  } catch (error) {
    gateway.close();
    throw error;
  }
}

async function startBehind(
  gateway: Gateway,
  consoleUrl: string | undefined,
  options: ServingOptions,
  first: Code,
): Promise<Omit<Serving, "consoleUrl">> {
  const broken = Promise.withResolvers<string>();
  const entries = new Map<Code, readonly ProcessEntry[]>();
  const alive = new Set<Generation>();
  const start = async (code: Code): Promise<Generation> => {
    const made = await startGeneration(options, code, (processes) => {
      entries.set(code, processes);
      return options.board.update({ functions: [...entries.values()].flat() });
    });
    alive.add(made);
    return made;
  };
  let current = await start(first);
  void gateway.turnTo(current.api.port);
  let stopping = false;
  let sources: Sources | undefined;
  const watch = (one: Generation): void => {
    void one.api.ended.then((end) => {
      if (one === current && !stopping) broken.resolve(`the API ended: ${describeEnd(end)}`);
    });
  };
  watch(current);
  const { url } = gateway;
  const retire = async (one: Generation, answered: Promise<void>): Promise<void> => {
    one.functions.drain();
    one.api.drain();
    const apiEnds = answered.then(() => one.api.stop());
    await Promise.all([one.functions.close(AS_LONG_AS_IT_TAKES_MS), apiEnds]);
    alive.delete(one);
    entries.delete(one.code);
    await one.releasing?.ended;
    await one.code.forget();
  };
  return {
    url,
    broken: broken.promise,
    open: async () => {
      await options.board.update({ api: { url, consoleUrl, pid: current.api.pid } });
      sources = openSources({
        ...options,
        queues: Object.keys(first.settings.queues),
        settingsOf: (queue) =>
          options.inspect === undefined
            ? current.code.settings.queues[queue]
            : { batchSize: 1, concurrency: 1 },
        functions: () => current.functions,
      });
    },
    replace: async (code) => {
      const [before, next] = [current, await start(code)];
      current = next;
      const answered = gateway.turnTo(next.api.port);
      // What becomes of its runs is told when it is known whether a release has its code.
      await before.releasing?.ended;
      watch(next);
      await options.board.update({ api: { url, consoleUrl, pid: next.api.pid } });
      void retire(before, answered);
    },
    stop: async () => {
      stopping = true;
      for (const { functions } of alive) functions.drain();
      await sources?.stop(options.drainMs);
      await Promise.all([...alive].map(end));
      gateway.close();
    },
    kill: () => {
      for (const { api, functions, releasing } of alive) {
        functions.kill();
        api.kill();
        releasing?.kill();
      }
    },
  };
}

/** The functions end before the API, which tells about them to the last. */
async function end({ functions, api, releasing }: Generation): Promise<void> {
  await functions.close(0);
  await releasing?.stop();
  await api.stop();
}

async function startGeneration(
  options: ServingOptions,
  code: Code,
  onChange: (processes: readonly ProcessEntry[]) => Promise<void>,
): Promise<Generation> {
  const kept = await options.codes.keep(code);
  const { handlers, configPath, log } = options;
  const ends: (() => Promise<void>)[] = [];
  const startingApi = async (): Promise<ApiProcess> => {
    const { env } = options;
    const api = await startApi({ handlers, configPath, code: kept.file, env, log });
    ends.push(() => api.stop());
    return api;
  };
  const startingFunctions = async (): Promise<Functions> => {
    const config = { path: configPath, queues: code.settings.queues };
    const functions = await startFunctions({ ...options, config, code: kept.file, onChange });
    ends.push(() => functions.close(0));
    return functions;
  };
  try {
    const [api, functions] = await allOrNothing([startingApi(), startingFunctions()] as const);
    // Behind what is waited for.
    return { code: kept, api, functions, releasing: options.releasing?.(kept) };
  } catch (error) {
    await Promise.all(ends.map((stop) => stop()));
    await kept.forget();
    throw error;
  }
}
