import { surviveLostConnections, type OpenPool } from "./driver.ts";

/**
 * Neon's driver: the protocol of PostgreSQL inside a WebSocket (Node's own). It is loaded only where it was chosen.
 * With `proxy`, such as "127.0.0.1:5433/v2", it connects to a WebSocket proxy of one's own without TLS, which is asked
 * for `?address=host:port`; otherwise to Neon's, beside the database's host.
 * Source: CONFIG.md of @neondatabase/serverless.
 */
export async function neonPool(proxy: string | undefined): Promise<OpenPool> {
  const neon = await import("@neondatabase/serverless");
  class Client extends neon.Client {
    constructor(config?: ConstructorParameters<typeof neon.Client>[0]) {
      super(config);
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
