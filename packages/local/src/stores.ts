import { resolve } from "node:path";
import type { Buckets } from "./buckets.ts";
import { openBuckets } from "./buckets.ts";
import type { Code } from "./code.ts";
import { readFirstCode } from "./code.ts";
import type { Database } from "./database.ts";
import { openDatabase } from "./database.ts";
import { openEvents, type Events } from "./events.ts";
import type { HostLog, Print } from "./log.ts";
import type { Owner } from "./owner.ts";
import { allOrNothing } from "./owner.ts";
import type { LoadedConfig, Parts } from "./parts.ts";
import type { Queues } from "./queues.ts";
import { openQueues } from "./queues.ts";
import type { Services } from "./services.ts";
import { startServices } from "./services.ts";

export interface StoresOptions {
  readonly configPath: string;
  readonly dataDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly print: Print;
  readonly parts: Parts;
}

/** What the API and the functions stand on. */
export interface Stores {
  readonly config: LoadedConfig;
  readonly code: Code;
  readonly database: Database;
  readonly queues: Queues;
  readonly events: Events;
  readonly services: Services;
  readonly buckets: Buckets;
  /** The user's environment, with where services and buckets are: what the configuration is evaluated in. */
  readonly env: NodeJS.ProcessEnv;
}

/** Configuration, database, queues, events and services, all at the same time; then the code, which may ask where they are. */
export async function startStores(
  options: StoresOptions,
  log: HostLog,
  owner: Owner,
  onChange: () => void,
): Promise<Stores> {
  const { env, dataDir, print, parts } = options;
  const loading = parts.loadConfig(resolve(options.configPath));
  const schema = loading.then((config) => config.databaseSchema);
  const queueSettings = loading.then((config) => config.queues);
  for (const promise of [schema, queueSettings]) promise.catch(() => undefined);
  const [databasePlace, queuePlace, eventsPlace, servicesPlace] = [
    owner.place(),
    owner.place(),
    owner.place(),
    owner.place(),
  ];
  const openingQueues = queuePlace.own(openQueues({ env, dataDir, log, queues: queueSettings }));
  const startingServices = loading.then(({ dev: { services } }) =>
    servicesPlace.own(startServices({ services, env, dataDir, log, onChange })),
  );
  const openingBuckets = Promise.all([loading, openingQueues]).then(([{ dev }, queues]) =>
    openBuckets(dev.buckets, env, queues),
  );
  // What has started belongs to its owner before anything is given up.
  const beside = allOrNothing([startingServices, openingBuckets] as const);
  const coding = beside.then(async ([services, buckets]) => {
    const given = { ...env, ...services.urls, ...buckets.variables };
    return { services, buckets, env: given, code: await readFirstCode(codeOf(options, given, log)) };
  });
  const [config, coded, queues, events, database] = await allOrNothing([
    loading,
    coding,
    openingQueues,
    eventsPlace.own(openEvents({ env, log })),
    databasePlace.own(openDatabase({ env, dataDir, log, print, ledger: parts.ledger, schema })),
  ] as const);
  return { config, database, queues, events, ...coded };
}

/** How the code of a configuration is read. */
export function codeOf(
  { parts, configPath }: Pick<StoresOptions, "parts" | "configPath">,
  env: NodeJS.ProcessEnv,
  log: HostLog,
) {
  return { handlers: parts.handlers, configPath: resolve(configPath), env, log };
}
