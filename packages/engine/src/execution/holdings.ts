import {
  readAuthorityAnswer,
  readGrantAnswer,
  type AnyWorkflow,
  type Grant,
  type Logger,
  type ResourceDefinition,
  type RunFailureCode,
  describeFailure,
  errorInLog,
  runLogger,
} from "@ghouls/core";
import type { ClaimedRun } from "@ghouls/ledger";
import { endsWithin } from "../patience.ts";
import { standIn, type Standing } from "./current-hop.ts";
import type { ExecutionDeps, Invocation } from "./deps.ts";
import { UNTIMED_MS, ledgerNowMs } from "./live-step.ts";
import type { Reined } from "./reins.ts";

/** Why a hop cannot have what its workflow wants. */
export type Withheld =
  /** The owner's own word, which alone fails a run. */
  | {
      readonly kind: "refused";
      readonly code: Extract<RunFailureCode, "authority_revoked" | "grant_refused">;
      readonly why: string;
    }
  /** Nobody knows: the owner did not answer, or not in time, or something that means nothing. */
  | {
      readonly kind: "unknown";
      readonly why: string;
      /** The same without an owner's own words. */ readonly inLog?: string;
    }
  /** The claim is gone, or the process is about to end. */
  | { readonly kind: "fenced" | "drained" };

type Asked<T> = { readonly kind: "answered"; readonly answer: T } | Withheld;

/** What user code sees of what its hop holds. */
export interface Held {
  readonly grants: Readonly<Record<string, Grant>>;
  readonly resources: Readonly<Record<string, unknown>>;
}

/**
 * What one hop holds (design.md §3, Reservations): asked for before its code runs, one after another, and given back after
 * its end in the reverse order. Each owner has one deadline; what comes after it is given back at once.
 */
export class Holdings implements Held, Reined {
  readonly #claim: ClaimedRun;
  readonly #deps: ExecutionDeps;
  readonly #invocation: Invocation;
  readonly #log: Logger;
  readonly #stop = new AbortController();
  readonly #toGiveBack: { readonly what: string; readonly back: () => unknown }[] = [];
  readonly #standing: Standing;
  #grants: readonly (readonly [name: string, grant: Grant])[] = [];
  #resources: readonly (readonly [name: string, resource: unknown])[] = [];
  #word: "fenced" | "drained" | undefined;
  #hop: Standing["hop"] | undefined;

  constructor(claim: ClaimedRun, deps: ExecutionDeps, invocation: Invocation) {
    this.#claim = claim;
    this.#deps = deps;
    this.#invocation = invocation;
    this.#log = deps.logFor(claim);
    // What a resource leaves to the process is its hop's while that lasts, and nobody's before and after.
    const leftBehind = (error: unknown) => {
      if (this.#hop === undefined) this.#warn("what a hop holds has left an error to the process", error);
      else this.#hop.fail(error);
    };
    this.#standing = { hop: { fail: leftBehind }, scope: "", step: undefined, held: undefined };
  }

  get grants(): Readonly<Record<string, Grant>> {
    return Object.fromEntries(this.#grants);
  }

  get resources(): Readonly<Record<string, unknown>> {
    return Object.fromEntries(this.#resources);
  }

  /** When the first of the grants expires, in milliseconds of the ledger's time. */
  get untilMs(): number {
    return Math.min(...this.#grants.map(([, { expiresAt }]) => expiresAt?.getTime() ?? Infinity));
  }

  /** Whether there is nothing to give back. */
  get isEmpty(): boolean {
    return this.#toGiveBack.length === 0;
  }

  /** The claim is gone: nobody waits for an owner any more. */
  fence(): void {
    this.#end("fenced");
  }

  drain(): void {
    this.#end("drained");
  }

  /** From now on this hop is blamed for what its resources leave to the process. */
  carriedBy(hop: Standing["hop"]): void {
    this.#hop = hop;
  }

  /** Whether the authority of the admission still holds; undefined where it does, or where none is required. */
  async checkAuthority(workflow: AnyWorkflow): Promise<Withheld | undefined> {
    if (workflow.authority === undefined) return undefined;
    const { tenantId, runId, requestedBy: subject, requestedRoles: roles } = this.#claim;
    const question = { tenantId, runId, subject, roles, required: workflow.authority.roles };
    const asked = await this.#ask("the authority", async (signal) =>
      readAuthorityAnswer(
        await this.#deps.authority.check({ ...question, workflow: this.#claim.workflow }, signal),
      ),
    );
    if (asked.kind !== "answered") return asked;
    if (asked.answer.outcome === "valid") return undefined;
    return {
      kind: "refused",
      code: "authority_revoked",
      why: `the authority of "${subject}" does not hold: ${asked.answer.reason}`,
    };
  }

  /** Takes the workflow's grants, then builds its resources. Undefined where all is held. */
  async take(workflow: AnyWorkflow): Promise<Withheld | undefined> {
    for (const name of workflow.grants) {
      const withheld = await this.#takeGrant(name);
      if (withheld !== undefined) return withheld;
    }
    for (const [name, resource] of Object.entries(workflow.resources)) {
      const withheld = await this.#build(name, resource);
      if (withheld !== undefined) return withheld;
    }
    return undefined;
  }

  /** Gives everything back, the last first. What fails or hangs is told, and holds nothing up beyond its deadline. */
  async release(): Promise<void> {
    this.#hop = undefined;
    for (let last = this.#toGiveBack.pop(); last !== undefined; last = this.#toGiveBack.pop()) {
      await this.#giveBack(last.what, last.back);
    }
  }

  async #takeGrant(name: string): Promise<Withheld | undefined> {
    const { tenantId, runId, requestedBy: subject, requestedRoles: roles, workflow, seq } = this.#claim;
    const what = `the grant "${name}"`;
    const asked = await this.#ask(
      what,
      async (signal) =>
        readGrantAnswer(
          await this.#deps.grants.acquire({ tenantId, runId, name, subject, roles, workflow, seq }, signal),
        ),
      (late) => (late.outcome === "granted" ? late.release : undefined),
    );
    if (asked.kind !== "answered") return asked;
    const { answer } = asked;
    if (answer.outcome === "refused")
      return {
        kind: "refused",
        code: "grant_refused",
        why: `${what} was refused to "${subject}": ${answer.reason}`,
      };
    const { value, expiresAt, release } = answer;
    if (release !== undefined) this.#toGiveBack.push({ what, back: release });
    if (
      expiresAt !== undefined &&
      expiresAt.getTime() <= ledgerNowMs(this.#claim, this.#deps, this.#invocation)
    )
      return { kind: "unknown", why: `${what} had expired when it was given, at ${expiresAt.toISOString()}` };
    this.#grants = [...this.#grants, [name, Object.freeze({ value, expiresAt })]];
    return undefined;
  }

  async #build(name: string, resource: ResourceDefinition): Promise<Withheld | undefined> {
    const { tenantId, runId } = this.#claim;
    const { grants } = this;
    const disposal = (built: unknown) =>
      resource.dispose === undefined ? undefined : () => resource.dispose?.(built);
    const what = `the resource "${name}"`;
    const asked = await this.#ask(
      what,
      (signal) => resource.build({ tenantId, runId, grants, log: runLogger(this.#log), signal }),
      disposal,
    );
    if (asked.kind !== "answered") return asked;
    const back = disposal(asked.answer);
    if (back !== undefined) this.#toGiveBack.push({ what, back });
    this.#resources = [...this.#resources, [name, asked.answer]];
    return undefined;
  }

  /**
   * Asks an owner, within its deadline. Never rejects.
   * @param givesBack what gives an answer back that nobody waited for any more
   */
  async #ask<T>(
    what: string,
    ask: (signal: AbortSignal) => T | Promise<T>,
    givesBack: (late: T) => (() => unknown) | undefined = () => undefined,
  ): Promise<Asked<T>> {
    if (this.#word !== undefined) return { kind: this.#word };
    const { settings, faults } = this.#deps;
    const deadlineMs = settings.leaseHeld
      ? UNTIMED_MS
      : this.#within(settings.ownerDeadlineMs, settings.settleReserveMs);
    const { promise, resolve } = Promise.withResolvers<Asked<T>>();
    let over = false;
    const decide = (asked: Asked<T>): boolean => {
      const first = !over;
      over = true;
      resolve(asked);
      return first;
    };
    const abort = new AbortController();
    const stopped = () => void decide({ kind: this.#word ?? "fenced" });
    this.#stop.signal.addEventListener("abort", stopped, { once: true });
    const timer = setTimeout(
      () => decide({ kind: "unknown", why: `${what}: no answer within ${deadlineMs} ms` }),
      deadlineMs,
    );
    standIn(this.#standing, async () => {
      await faults("holdings.before-ask", what);
      const answer = await ask(abort.signal);
      await faults("holdings.after-ask", what);
      return answer;
    }).then(
      (answer) => {
        const back = givesBack(answer);
        if (!decide({ kind: "answered", answer }) && back !== undefined) void this.#giveBack(what, back);
      },
      (error: unknown) => {
        const [why, inLog] = [`${what}: ${messageOf(error)}`, `${what}: ${errorInLog(error)}`];
        decide({ kind: "unknown", why, inLog });
      },
    );
    const asked = await promise;
    clearTimeout(timer);
    this.#stop.signal.removeEventListener("abort", stopped);
    if (asked.kind !== "answered")
      abort.abort(new DOMException("nobody waits for it any more", "AbortError"));
    return asked;
  }

  async #giveBack(what: string, back: () => unknown): Promise<void> {
    const { settings, faults } = this.#deps;
    try {
      const call = standIn(this.#standing, async () => {
        await faults("holdings.before-release", what);
        await back();
        await faults("holdings.after-release", what);
      });
      if (await endsWithin(call, this.#within(settings.ownerDeadlineMs, settings.settleReserveMs / 2)))
        return;
      call.catch((error: unknown) => this.#warn(`${what} was given back late, and failed`, error));
      this.#log.warn("what a hop held was not given back in time; nobody waits for it any more", {
        name: what,
      });
    } catch (error) {
      this.#warn(`${what} could not be given back`, error);
    }
  }

  /** What an owner has, so that the hop's own end still fits into its invocation. */
  #within(deadlineMs: number, reserveMs: number): number {
    return Math.max(0, Math.min(deadlineMs, this.#invocation.remainingMs() - reserveMs));
  }

  #end(word: "fenced" | "drained"): void {
    if (this.#word !== "fenced") this.#word = word;
    this.#stop.abort();
  }

  #warn(message: string, error: unknown): void {
    this.#log.warn(message, { error: errorInLog(error) });
  }
}

/** For people who may read the run; a log has less. */
function messageOf(error: unknown): string {
  const { name, message } = describeFailure(error);
  return `${name}: ${message}`.slice(0, 300);
}
