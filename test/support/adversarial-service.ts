import type { ServiceTraits } from "@ghouls/core";
import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { FORMS, TELLING, answer, type Form, type Reply } from "./adversarial-answers.ts";
import { Callbacks, type SentCallback } from "./adversarial-callbacks.ts";
import { Jobs, hasEnded, type KeyRecord } from "./adversarial-jobs.ts";

export interface AdversaryOptions {
  readonly seed: number;
  /** What it claims, and keeps. In everything else it misbehaves. */
  readonly traits: ServiceTraits;
  /** Whether it calls back, where a submission says where. */
  readonly callbacks: boolean;
}

/**
 * A service that speaks the protocol of `httpService`, and does all that a service may do without breaking what it claims.
 * It has no timers: things that it holds happen in `step`. One step is its declared delay: what was sent before a step is
 * taken at its end, or never will be.
 */
export interface Adversary {
  readonly origin: string;
  readonly url: string;
  /** How often a job of this key has acted on the world. */
  effects(key: string): number;
  /** What its jobs of this key came to where they succeeded: nothing else is a result, whoever says so. */
  results(key: string): readonly unknown[];
  /** Submissions of this key that have arrived. */
  submissions(key: string): number;
  keys(): readonly string[];
  step(): Promise<void>;
  /** Whether a step would change nothing. */
  quiet(): boolean;
  /** Questions that are open until a step answers them, or for ever. */
  waiting(): number;
  /** What it did that a good service would not, in order. */
  misdeeds(): readonly string[];
  callbacks(): readonly SentCallback[];
  stop(): Promise<void>;
}

/** Questions about one key in which it misbehaves; afterwards it behaves, so that a trial comes to an end. */
const WILD_QUESTIONS = 8;

export async function startAdversary({ seed, traits, callbacks }: AdversaryOptions): Promise<Adversary> {
  const service = new AdversarialService(seed, traits, callbacks);
  const server = createServer((request, response) => {
    response.on("error", () => undefined);
    service.handle(request, response).catch((error: unknown) => {
      // Half of a request is nothing to be surprised at.
      if (request.complete) service.misdeeds.push(`its own fault: ${String(error)}`);
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  service.url = `${origin}/jobs`;
  const { jobs } = service;
  // Names no key: what a test asks about leaves no trace.
  const known = (key: string) => jobs.all().find((record) => record.key === key);
  return {
    origin,
    url: service.url,
    effects: (key) => known(key)?.effects ?? 0,
    results: (key) =>
      (known(key)?.jobs ?? []).flatMap(({ report }) => (report.state === "succeeded" ? [report.result] : [])),
    submissions: (key) => known(key)?.submissions ?? 0,
    keys: () => jobs.all().map(({ key }) => key),
    step: async () => {
      await arrived(origin);
      await service.step();
    },
    quiet: () => service.quiet(),
    waiting: () => service.open.size,
    misdeeds: () => service.misdeeds,
    callbacks: () => service.calls.sent,
    stop: async () => {
      service.calls.stop();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Connections are taken in order: once a new one is answered, whatever was sent before it is here. */
function arrived(origin: string): Promise<void> {
  return new Promise((resolve, reject) => {
    get(`${origin}/arrived`, { agent: false }, (response) => response.resume().on("end", resolve)).on(
      "error",
      reject,
    );
  });
}

class AdversarialService {
  readonly jobs: Jobs;
  readonly calls: Callbacks;
  readonly misdeeds: string[] = [];
  readonly open = new Set<ServerResponse>();
  url = "";
  readonly #traits: ServiceTraits;
  readonly #callsBack: boolean;
  readonly #questions = new Map<KeyRecord, number>();
  readonly #tokens = new Map<KeyRecord, string>();
  readonly #held = new Map<ServerResponse, () => void>();
  /** Submissions that wait for the answer to a callback. */
  #underWay = 0;

  constructor(seed: number, traits: ServiceTraits, callsBack: boolean) {
    this.jobs = new Jobs(seed, traits);
    this.calls = new Callbacks((what) => this.#note(what));
    this.#traits = traits;
    this.#callsBack = callsBack;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = "", headers } = request;
    for await (const _chunk of request);
    if (url === "/arrived") return void response.end();
    const posted = headers["idempotency-key"];
    const key = method === "POST" ? String(posted) : decodeURIComponent(url.split("/").at(-1) ?? "");
    const record = this.jobs.of(key);
    const asked = (this.#questions.get(record) ?? 0) + 1;
    this.#questions.set(record, asked);
    const wild = asked <= WILD_QUESTIONS && record.chance.happens(0.75);
    if (method === "POST") return this.#submitted(record, wild, request, response);
    if (method === "GET") return this.#lookedUp(record, wild, response);
    if (method === "DELETE") return this.#cancelled(record, wild, response);
    response.writeHead(405).end();
  }

  async step(): Promise<void> {
    for (const job of this.jobs.advance()) this.calls.changed(job);
    const held = [...this.#held];
    this.#held.clear();
    for (const [response, say] of held) {
      this.open.delete(response);
      say();
    }
    await this.calls.step();
  }

  quiet(): boolean {
    return this.#underWay === 0 && this.#held.size === 0 && this.jobs.quiet() && this.calls.quiet();
  }

  async #submitted(
    record: KeyRecord,
    wild: boolean,
    { headers }: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { chance } = record;
    record.submissions += 1;
    const [url, token] = ["url", "token"].map((name) => headers[`ghouls-callback-${name}`]);
    if (typeof url === "string" && typeof token === "string") {
      this.#tokens.set(record, token);
      if (this.#callsBack) this.calls.learn(record.key, { url, token }, chance);
    }
    const forms: readonly Form[] = token === undefined ? FORMS : [...FORMS, "echo"];
    const form = wild ? chance.pick(forms) : "plain";
    const take = this.#decide(record, wild, form);
    const job = take === "now" ? this.jobs.take(record, this.#hides(record, wild)) : undefined;
    if (take === "later") record.pending += 1;
    if (form === "500" && take !== "never") this.#note("accepts and answers 500");
    if (job !== undefined && wild && chance.happens(0.4)) {
      this.#underWay += 1;
      await this.calls.early(record.key, job.report);
      this.#underWay -= 1;
    }
    const refused = job === undefined && this.jobs.isClosed(record);
    const report = refused
      ? { state: "cancelled" as const }
      : (job?.report ?? { state: "accepted" as const });
    // A job that has only been accepted may be answered without a word.
    const silent = report.state === "accepted" && chance.happens(0.5);
    const status = report.state === "failed" ? chance.pick([200, 422, 500]) : chance.pick([200, 201, 202]);
    this.#say(record, response, silent ? { status } : { status, report }, form);
  }

  /** Whether, and when, a submission is taken. What is answered as taken is, where a lookup is to be believed. */
  #decide(record: KeyRecord, wild: boolean, form: Form): "now" | "later" | "never" {
    if (!wild) return "now";
    const take = record.chance.pick(["now", "now", "later", "never"] as const);
    const telling = form === "echo" || TELLING.some((one) => one === form);
    const known = this.jobs.isClosed(record) || record.jobs.length > 0;
    if (take === "never" && telling && !known) {
      if (this.#traits.lookup === "authoritative") return "now";
      this.#note("answers 202 and forgets");
    }
    if (take === "later") this.#note("takes it later than it answers");
    return take;
  }

  #hides({ chance, jobs }: KeyRecord, wild: boolean): boolean {
    const hides = wild && this.#traits.lookup !== "authoritative" && jobs.length === 0 && chance.happens(0.3);
    if (hides) this.#note("forgets and acts");
    return hides;
  }

  #lookedUp(record: KeyRecord, wild: boolean, response: ServerResponse): void {
    const { chance } = record;
    if (this.#traits.lookup === "none") return void response.writeHead(405).end();
    const job = this.jobs.visible(record);
    const denies =
      job !== undefined && wild && this.#traits.lookup !== "authoritative" && chance.happens(0.3);
    if (denies) this.#note("denies what it has");
    const form = wild ? chance.pick(FORMS) : "plain";
    const absent = { status: chance.pick([404, 410]) };
    const reply = job === undefined || denies ? absent : { status: 200, report: job.report };
    this.#say(record, response, reply, form);
  }

  #cancelled(record: KeyRecord, wild: boolean, response: ServerResponse): void {
    const { chance } = record;
    if (this.#traits.cancel === "none") return void response.writeHead(405).end();
    const form = wild ? chance.pick(FORMS) : "plain";
    this.#say(record, response, this.#cancel(record, wild), form);
  }

  #cancel(record: KeyRecord, wild: boolean): Reply {
    const { chance } = record;
    const job = this.jobs.visible(record);
    if (job !== undefined && hasEnded(job)) return { status: 200, report: job.report };
    if (job === undefined) {
      // Of what it does not find it says that it is cancelled only where it has not taken it.
      if (this.jobs.hides(record) || chance.happens(0.5)) return { status: chance.pick([404, 410]) };
      if (this.#traits.cancel === "advisory" && record.pending > 0) this.#note("says cancelled and acts");
      this.jobs.cancel(record, "now");
      return gone(chance.happens(0.5));
    }
    const manner = wild ? chance.pick(["now", "at the next step", "never"] as const) : "now";
    if (manner !== "now") this.#note("does not cancel at once");
    if (manner !== "never") this.jobs.cancel(record, manner);
    if (manner === "now") return gone(chance.happens(0.5));
    return chance.happens(0.5) ? { status: 202 } : { status: 200, report: job.report };
  }

  #say(record: KeyRecord, response: ServerResponse, reply: Reply, form: Form): void {
    if (form !== "plain") this.#note(form);
    if (response.destroyed) return;
    const about = { chance: record.chance, token: this.#tokens.get(record), here: this.url };
    // Whoever has given up is not answered.
    response.on("close", () => {
      this.open.delete(response);
      this.#held.delete(response);
    });
    const later = answer(response, reply, form, about);
    if (later !== undefined) this.#held.set(response, later);
    if (later !== undefined || form === "never") this.open.add(response);
  }

  #note(what: string): void {
    this.misdeeds.push(what);
  }
}

function gone(bare: boolean): Reply {
  return bare ? { status: 204 } : { status: 200, report: { state: "cancelled" } };
}
