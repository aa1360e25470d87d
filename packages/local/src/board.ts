import type { Database } from "./database.ts";
import type { Events } from "./events.ts";
import type { Functions } from "./functions.ts";
import type { Buckets } from "./buckets.ts";
import type { HostLog } from "./log.ts";
import type { Notice } from "./notices.ts";
import type { CodeState } from "./reload.ts";
import type { Queues } from "./queues.ts";
import type { Services } from "./services.ts";
import type { DevState, StateFile } from "./state.ts";

export interface Board {
  update(change: {
    api?: { readonly url: string; readonly consoleUrl: string | undefined; readonly pid: number };
    functions?: ReturnType<Functions["processes"]>;
    code?: CodeState;
    notices?: readonly Notice[];
  }): Promise<void>;
}

export interface BoardOptions {
  readonly file: StateFile;
  readonly database: Database;
  readonly schema: string;
  readonly queues: Queues;
  readonly events: Pick<Events, "processes" | "endpoint">;
  readonly services: Pick<Services, "processes">;
  readonly buckets: Buckets;
  readonly tokens: DevState["tokens"];
  readonly log: HostLog;
}

/** Writes `dev.json` whenever a process comes or goes, from the moment on at which the API answers. */
export function createBoard(options: BoardOptions): Board {
  const { file, database, schema, queues, events, services, buckets, tokens, log } = options;
  let current: Parameters<Board["update"]>[0] = {};
  return {
    update: async (change) => {
      current = { ...current, ...change };
      if (current.api === undefined) return;
      const processes = [
        { role: "host", pid: process.pid },
        ...database.processes,
        ...queues.processes,
        ...events.processes,
        ...services.processes(),
        { role: "api", pid: current.api.pid },
        ...(current.functions ?? []),
      ];
      const { endpoint } = queues.connection;
      const { code, notices } = current;
      // One of the user's own is the user's to name: its migrator's password stays out of the file.
      const migrationUrl = database.ended === undefined ? undefined : database.migrationUrl;
      const state = {
        apiUrl: current.api.url,
        ...(current.api.consoleUrl === undefined ? {} : { consoleUrl: current.api.consoleUrl }),
        databaseUrl: database.url,
        databaseSchema: schema,
        ...(migrationUrl === undefined ? {} : { migrationUrl }),
        ...(endpoint === undefined ? {} : { sqsUrl: endpoint }),
        dynamodbUrl: events.endpoint,
        ...(buckets.s3Url === undefined ? {} : { s3Url: buckets.s3Url }),
        tokens,
        processes,
        ...(code === undefined ? {} : { code }),
        ...(notices === undefined ? {} : { notices }),
      };
      await file
        .write(state)
        .catch((error: unknown) => log.line("host", `dev.json cannot be written: ${String(error)}`));
    },
  };
}
