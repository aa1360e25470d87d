import type { Made } from "./apply/applier.ts";
import { applyGraph, NotRemoved, removeMade } from "./apply/apply.ts";
import { apiAddress } from "./apply/http.ts";
import { openClients } from "./clients.ts";
import { recordGraph } from "./record/record.ts";
import { keepSecret, removeSecret } from "./secrets.ts";
import { readStack, removeStackFile, writeStack } from "./stack-file.ts";

export interface StackOptions {
  /** Folder of the project: it holds sst.config.ts and .sst/platform. */
  readonly root: string;
  readonly stage: string;
  /** Where the emulator listens, such as http://127.0.0.1:4566. */
  readonly endpoint: string;
  readonly region: string;
  /** Keeps what has been made, for the next `up` and for `down`. */
  readonly stateFile: string;
}

export interface UpOptions extends StackOptions {
  /** Connection strings as the functions see the database: inside a container loopback is another machine. */
  readonly databaseUrl: string;
  readonly migrationDatabaseUrl: string;
  /** Waited for after each resource. */
  readonly onMade?: (made: Made) => Promise<void>;
  /** Further environment of sst.config.ts. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A stack that stands at its endpoint. */
export interface Stack {
  /** Address of the HTTP API. */
  readonly apiUrl: string;
  readonly made: readonly Made[];
}

/** The account that every emulator has. */
const ACCOUNT = "000000000000";
const API = "aws:apigatewayv2/api:Api";

/**
 * Records what SST would deploy, and brings it to the endpoint; a second time it changes what stands there.
 * @throws Error where the program, the endpoint or a step of the deploy refuses
 */
export async function up(options: UpOptions): Promise<Stack> {
  const { root, stage, endpoint, region, stateFile } = options;
  const earlier = await readStack(stateFile);
  if (earlier !== undefined && (earlier.endpoint !== endpoint || earlier.stage !== stage)) {
    throw new Error(
      `stage ${earlier.stage} still stands at ${earlier.endpoint}. Take it down first, or remove ${stateFile} where that is gone.`,
    );
  }
  const clients = openClients({ url: endpoint, region });
  const names = secretNames(stage);
  const made = new Map((earlier?.made ?? []).map((one) => [one.urn, one]));
  const keep = () =>
    writeStack(stateFile, { endpoint, stage, secrets: Object.values(names), made: [...made.values()] });
  try {
    await keep();
    const secret = await keepSecret(names.application, options.databaseUrl, clients);
    const migrationSecret = await keepSecret(names.migrator, options.migrationDatabaseUrl, clients);
    const graph = await recordGraph({
      root,
      stage,
      account: ACCOUNT,
      sqsUrl: endpoint,
      env: {
        ...options.env,
        AWS_REGION: region,
        GHOULS_DATABASE_SECRET_ARN: secret,
        GHOULS_MIGRATION_DATABASE_SECRET_ARN: migrationSecret,
      },
    });
    const applied = await applyGraph(graph, {
      clients,
      root,
      earlier: earlier?.made ?? [],
      onMade: async (one) => {
        made.set(one.urn, one);
        await keep();
        await options.onMade?.(one);
      },
    });
    await writeStack(stateFile, { endpoint, stage, secrets: Object.values(names), made: applied.made });
    return { apiUrl: apiUrlOf(endpoint, applied.made), made: applied.made };
  } finally {
    clients.destroy();
  }
}

/**
 * Removes all that `up` has made. Answers how much that was.
 * @throws NotRemoved where something is left; the state file says what, for the next `down`
 */
export async function down({ stateFile, region }: StackOptions): Promise<number> {
  const state = await readStack(stateFile);
  if (state === undefined) return 0;
  const clients = openClients({ url: state.endpoint, region });
  try {
    await removeMade(state.made, clients);
    for (const name of state.secrets) await removeSecret(name, clients);
  } catch (error) {
    // Secrets are few and come last: all of them are tried again.
    await writeStack(stateFile, { ...state, made: error instanceof NotRemoved ? error.left : [] });
    throw error;
  } finally {
    clients.destroy();
  }
  await removeStackFile(stateFile);
  return state.made.length + state.secrets.length;
}

function secretNames(stage: string) {
  return { application: `ghouls/${stage}/application`, migrator: `ghouls/${stage}/migrator` };
}

function apiUrlOf(endpoint: string, made: readonly Made[]): string {
  const api = made.find(({ type }) => type === API);
  if (api === undefined) throw new Error("the graph has no HTTP API");
  return apiAddress(endpoint, api.keys["id"] ?? "");
}
