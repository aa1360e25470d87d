import type { Judgement } from "@ghouls/core";
import { loadConfig } from "./fake-handlers.support.ts";
import type { Parts } from "./parts.ts";

/** What a judgement of an empty ledger answers. */
export const SOUND: Judgement = {
  checks: 1,
  strandedJudged: false,
  states: [],
  repaired: 0,
  newFaults: 0,
  goneFaults: 0,
  quarantined: 0,
  acknowledged: { count: 0, first: [] },
  refused: { count: 0, first: [] },
};

/** Parts whose ledger only notes what it is asked to do; the processes get fake handlers. */
export function fakeParts(over: { readonly migrationFails?: boolean; readonly judgement?: Judgement } = {}) {
  const notes: string[] = [];
  const parts: Parts = {
    loadConfig,
    handlers: new URL("./fake-handlers.support.ts", import.meta.url).href,
    ledger: {
      createRoles: (_, { schema, migrator, application }) => {
        notes.push(`roles ${schema} ${migrator.name} ${application.name}`);
        return Promise.resolve();
      },
      migrate: ({ connectionString, schema, applicationRole }) => {
        notes.push(`migrate ${schema} as ${new URL(connectionString).username} for ${applicationRole}`);
        return over.migrationFails === true ? Promise.reject(new Error("no such table")) : Promise.resolve();
      },
      openLedger: () => ({
        capacities: {
          say: (capacities) => {
            notes.push(`capacities ${JSON.stringify(capacities)}`);
            return Promise.resolve();
          },
        },
        integrity: { judge: () => Promise.resolve(over.judgement ?? SOUND) },
        releases: { all: () => Promise.resolve([]) },
        runs: {
          openOfPins: () => Promise.resolve([]),
          stranded: () => Promise.resolve({ runs: [], count: 0 }),
        },
        deliveries: {
          beatOfWorker: () => Promise.resolve(0),
          recordWorkerEnd: ({ worker, how }) => {
            notes.push(`ended ${worker}: ${how}`);
            return Promise.resolve(1);
          },
        },
        keys: {
          create: (keys) => {
            notes.push(
              `keys of ${keys.map(({ tenantId, roles }) => `${tenantId} ${roles.join()}`).join(", ")}`,
            );
            return Promise.resolve(keys.map(() => ({ revokedAt: null })));
          },
        },
        close: () => {
          notes.push("closed");
          return Promise.resolve();
        },
      }),
    },
  };
  return { parts, notes };
}

/** The environment without what the machine of the test may have set. */
export function cleanEnv(over: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(AWS_|GHOULS_|DATABASE_)/.test(name));
  return { ...Object.fromEntries(kept), ...over };
}
