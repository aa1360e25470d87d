import { surviveLostConnections, type Answer, type OpenPool, type Question } from "./driver.ts";

/** node-postgres's query of a client, as Neon's has it beside its promises. */
interface QueryObject {
  requiresPreparation(): boolean;
}
type QueryClass = new (
  question: Question,
  values: undefined,
  done: (error: unknown, answer: Answer) => void,
) => QueryObject;

/**
 * Neon's driver: the protocol of PostgreSQL inside a WebSocket (Node's own). It is loaded only where it was chosen.
 * With `proxy`, such as "127.0.0.1:5433/v2", it connects to a WebSocket proxy of one's own without TLS, which is asked
 * for `?address=host:port`; otherwise to Neon's, beside the database's host.
 * Source: CONFIG.md of @neondatabase/serverless.
 */
export async function neonPool(proxy: string | undefined): Promise<OpenPool> {
  const neon = await import("@neondatabase/serverless");
  // Its node-postgres is older than `queryMode`, and would send a text without values by the protocol that takes many.
  const { Query } = neon.Client as unknown as { readonly Query: QueryClass };
  class ExtendedQuery extends Query {
    override requiresPreparation(): boolean {
      return true;
    }
  }
  class Client extends neon.Client {
    constructor(config?: ConstructorParameters<typeof neon.Client>[0]) {
      super(config);
      const plain = this.query.bind(this) as (...args: unknown[]) => unknown;
      const query = (...args: unknown[]) =>
        isExtended(args[0])
          ? new Promise<Answer>((resolve, reject) => {
              const done = (error: unknown, answer: Answer) => (error ? reject(error) : resolve(answer));
              plain(new ExtendedQuery(args[0] as Question, undefined, done));
            })
          : plain(...args);
      this.query = query as typeof this.query;
      if (proxy === undefined) return;
      // Per connection, since neonConfig itself is of the whole process.
      this.neonConfig.wsProxy = proxy;
      this.neonConfig.useSecureWebSocket = false;
      this.neonConfig.pipelineTLS = false;
      // Plain PostgreSQL asks for SCRAM, which cannot be sent ahead.
      this.neonConfig.pipelineConnect = false;
      // Its timer costs a millisecond a message, which only pays over a distance.
      this.neonConfig.coalesceWrites = false;
    }
  }
  return (settings) => {
    const pool = new neon.Pool(settings as ConstructorParameters<typeof neon.Pool>[0]);
    pool.Client = Client;
    surviveLostConnections(pool);
    return pool;
  };
}

function isExtended(question: unknown): question is Question {
  return typeof question === "object" && question !== null && "queryMode" in question;
}
