import { addressOf } from "./address.ts";
import type { Answer, ConnectionPool, DriverName, OpenPool, Question } from "./drivers/driver.ts";
import { neonPool } from "./drivers/neon.ts";
import { openPgPool } from "./drivers/pg.ts";
import { LedgerError, classify } from "./errors.ts";
import { Patience } from "./patience.ts";
import { isRefused, mayComeSoon } from "./suspended.ts";

/**
 * A connection string, or a function that fetches it, as from a store of secrets. It is called once, and again when the
 * server has refused what it gave, within the patience: that is how a rotated password reaches a warm process.
 */
export type ConnectionSource = string | (() => Promise<string>);

export interface ConnectionOptions {
  readonly connectionString: ConnectionSource;
  /** "pg" by default; "neon" speaks through a WebSocket. */
  readonly driver?: DriverName;
  /** For the driver neon: host, port and path of a WebSocket proxy of one's own. Neon's own where absent. */
  readonly neonProxy?: string;
  /** Asked for each new connection, in the place of the connection string's password: a token that expires. */
  readonly password?: () => Promise<string>;
  /** Connections of this process; 2 by default. */
  readonly maxConnections?: number;
  /** Milliseconds to wait for a connection; 5,000 by default. */
  readonly connectTimeoutMs?: number;
  /**
   * Milliseconds to go on trying to connect, in all, with what is fetched for it; 10,000 by default. A suspended compute
   * takes some seconds to wake.
   */
  readonly connectPatienceMs?: number;
  /** Milliseconds to wait for an answer, 20,000 by default: longer than the role's statement_timeout, so it means a lost one. */
  readonly answerTimeoutMs?: number;
  readonly applicationName?: string;
  /** Chance in [0, 1) for the spread of retries; the middle where absent. */
  readonly chance?: () => number;
}

/** A connection that is checked out of the pool that is current now, or was then. */
export interface Held {
  query(question: Question | string): Promise<Answer>;
  /** Whether prepared statements stay with the connection, as far as its address tells. */
  readonly keepsNames: boolean;
  release(broken: boolean): void;
}

/** At most between two logins that are refused: a store is asked before each, and counts its calls. */
const REFUSED_PAUSE_MS = 2_000;

/** The pool of one connection string. */
interface Generation {
  readonly connectionString: string;
  readonly pool: ConnectionPool;
  readonly keepsNames: boolean;
  /** Callers that wait for a connection of it, and those that hold one. */
  waiting: number;
  held: number;
  state: "current" | "replaced" | "ended";
  /** Once its pool has been told to end: a second time would be an error. */
  ending: Promise<void> | undefined;
}

/**
 * One pool at a time, on either driver; it is replaced when its credentials are. Connections that are held meanwhile stay
 * with the old one, so a rotation may hold twice `maxConnections` for a moment.
 */
export class Connections {
  /** Connections that it has at most. */
  readonly max: number;
  readonly #options: ConnectionOptions;
  readonly #chance: () => number;
  #current: Promise<Generation> | undefined;
  #renewing: Promise<boolean> | undefined;
  /** Every pool that was opened, until it has ended. */
  readonly #alive = new Set<Generation>();
  #closing: Promise<void> | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.max = options.maxConnections ?? 2;
    this.#chance = options.chance ?? (() => 0.5);
  }

  /** For one call, over all the connections that it needs. Its maker ends it. */
  patience(): Patience {
    return new Patience(this.#options.connectPatienceMs ?? 10_000, this.#chance);
  }

  /**
   * A connection, retried within the patience: nothing has been sent before there is one. A pool whose connections are
   * all held is no reason to try again, but to push back. Where credentials are fetched, their refusal may be the moment
   * between the two steps of a rotation, in either order, so they are fetched again.
   * @throws LedgerError unavailable
   */
  async connect(what: string, patience: Patience): Promise<Held> {
    let refusals = 0;
    let cause: unknown = new Error("no connection in time");
    for (let failed = 1; ; failed += 1) {
      let generation: Generation | undefined;
      let wasBusy = false;
      try {
        generation = await this.#inTime(this.#generation(), patience);
        wasBusy = this.#isBusy(generation);
        const held = await this.#checkOut(generation, patience);
        if (held !== undefined) return held;
      } catch (error) {
        cause = error;
        if (generation !== undefined && isRefused(error)) {
          refusals += 1;
          const renewed = await this.#inTime(this.#renew(generation), patience).catch(unavailable(what));
          if (renewed && refusals === 1) continue;
          if (this.#isFetched && (await patience.allows(failed, REFUSED_PAUSE_MS))) continue;
          return unavailable(what)(error);
        }
        // It waited for a pool that has been replaced meanwhile.
        if (generation !== undefined && generation.state !== "current") continue;
        // Somebody held each connection from the beginning to the end of its wait; else it waited for one to be made.
        const busy = generation !== undefined && wasBusy && this.#isBusy(generation);
        if (!busy && mayComeSoon(error) && (await patience.allows(failed))) continue;
      }
      return unavailable(what)(cause);
    }
  }

  /** Bounds a fetch by the patience of one of the calls that wait for it. Where nothing is fetched, nothing is bound. */
  async #inTime<T>(work: Promise<T>, patience: Patience): Promise<T> {
    if (!this.#isFetched) return work;
    const done = await patience.bound(work.then((value) => ({ value })));
    if (done === undefined) throw unfetched();
    return done.value;
  }

  get #isFetched(): boolean {
    return typeof this.#options.connectionString !== "string";
  }

  #isBusy(generation: Generation): boolean {
    return generation.held >= this.max;
  }

  /** Undefined where the patience ended first. */
  async #checkOut(generation: Generation, patience: Patience): Promise<Held | undefined> {
    generation.waiting += 1;
    const connecting = generation.pool.connect().finally(() => {
      generation.waiting -= 1;
      this.#endIfUnused(generation);
    });
    const connection = await patience.bound(connecting);
    if (connection === undefined) {
      // Whoever asked has gone; what comes late stays in the pool for the next.
      void connecting.then(
        (late) => late.release(false),
        () => undefined,
      );
      return undefined;
    }
    generation.held += 1;
    return {
      keepsNames: generation.keepsNames,
      query: (question) => connection.query(question),
      release: (broken) => {
        generation.held -= 1;
        connection.release(broken);
      },
    };
  }

  async #generation(): Promise<Generation> {
    this.#assertOpen();
    this.#current ??= this.#fetch().then((connectionString) => this.#open(connectionString));
    const opening = this.#current;
    try {
      return await opening;
    } catch (error) {
      // The next call asks again.
      if (this.#current === opening) this.#current = undefined;
      throw error;
    }
  }

  /** A store that gives no answer is given up after one patience, whoever still waits: the next call asks it anew. */
  async #fetch(): Promise<string> {
    const { connectionString } = this.#options;
    if (typeof connectionString === "string") return connectionString;
    const patience = this.patience();
    try {
      return await this.#inTime(connectionString(), patience);
    } finally {
      patience.end();
    }
  }

  async #open(connectionString: string): Promise<Generation> {
    const { driver = "pg", neonProxy, password } = this.#options;
    const address = addressOf(connectionString);
    const openPool: OpenPool = driver === "neon" ? await neonPool(neonProxy) : openPgPool;
    // From here to its entry nothing is awaited: a close either refuses this pool or ends it.
    this.#assertOpen();
    const pool = openPool({
      application_name: this.#options.applicationName ?? "ghouls",
      query_timeout: this.#options.answerTimeoutMs ?? 20_000,
      ...address,
      ...(password === undefined ? {} : { password }),
      max: this.max,
      connectionTimeoutMillis: this.#options.connectTimeoutMs ?? 5_000,
      idleTimeoutMillis: 30_000,
      allowExitOnIdle: true,
    });
    // The hosts of Neon's pooler have it in their names; behind its WebSocket a pooler is taken for granted.
    const keepsNames = driver === "pg" && !/-pooler\b/.test(address.host ?? "");
    const generation: Generation = {
      connectionString,
      pool,
      keepsNames,
      waiting: 0,
      held: 0,
      state: "current",
      ending: undefined,
    };
    this.#alive.add(generation);
    return generation;
  }

  /** Fetches the connection string anew, once for all who were refused; answers whether there is another pool now. */
  async #renew(refused: Generation): Promise<boolean> {
    if (refused.state !== "current") return true;
    if (!this.#isFetched) return false;
    this.#renewing ??= this.#replace(refused).finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #replace(refused: Generation): Promise<boolean> {
    const connectionString = await this.#fetch();
    if (connectionString === refused.connectionString) return false;
    const next = await this.#open(connectionString);
    refused.state = "replaced";
    this.#current = Promise.resolve(next);
    this.#endIfUnused(refused);
    return true;
  }

  /** A pool that was replaced ends when nobody waits for it; connections that are held come back to it first. */
  #endIfUnused(generation: Generation): void {
    if (generation.state !== "replaced" || generation.waiting > 0) return;
    void this.#end(generation);
  }

  #end(generation: Generation): Promise<void> {
    generation.state = "ended";
    generation.ending ??= generation.pool.end().finally(() => this.#alive.delete(generation));
    return generation.ending;
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new Error("the ledger has been closed");
  }

  /** Resolves when each connection has come back; whoever asks for one from now on is refused. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** A connection string that is still being fetched is not waited for: its pool will not be opened. */
  async #close(): Promise<void> {
    await Promise.all([...this.#alive].map((generation) => this.#end(generation)));
  }
}

function unfetched(): Error {
  return new Error("the connection string was not fetched in time");
}

function unavailable(what: string): (cause: unknown) => never {
  return (cause) => {
    if (cause instanceof LedgerError) throw cause;
    throw new LedgerError("unavailable", what, classify(cause, false).sqlState, cause);
  };
}
