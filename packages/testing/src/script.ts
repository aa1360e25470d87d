import { GhoulsError, durationMs, type Duration, type Verdict, type wire } from "@ghouls/core";
import type { AttemptService, ConsentService, SignalService } from "@ghouls/engine";
import type { Ledger } from "@ghouls/ledger";
import type { Config } from "ghouls";
import { principalOf, type Actor } from "./actor.ts";
import type { ScriptedJob, ScriptedJobs } from "./jobs.ts";
import { jsonTextOf } from "./json-text.ts";

/** Decides each consent that fits, by itself. */
export interface ScriptedConsent {
  /** The whole title, or a part of it; any where absent. */
  readonly title?: string | RegExp;
  /** Name of a workflow; any where absent. */
  readonly workflow?: string;
  readonly decide: Verdict;
  readonly as: Actor;
  /** Counted from when the consent opened, by the ledger's clock; at once where absent. */
  readonly after?: Duration;
  readonly comment?: string;
}

/** Sends a signal to each run that waits for one of this name, by itself. */
export interface ScriptedSignal {
  readonly name: string;
  /** Any JSON. */
  readonly payload?: unknown;
  /** Counted from when the run began to wait, by the ledger's clock; at once where absent. */
  readonly after?: Duration;
  /** "service:script" where absent. */
  readonly as?: Actor;
}

export interface ScriptOptions {
  /** All that fit decide, so that a quorum can be scripted. A consent that was closed meanwhile is left alone. */
  readonly consents?: readonly ScriptedConsent[];
  /** Of one name, the first answers a run's first wait, the next its next one, and the last all further ones. */
  readonly signals?: readonly ScriptedSignal[];
  /** Of one service, the first is its first job, the next its next one, and the last all further ones. */
  readonly jobs?: readonly ScriptedJob[];
}

export interface ScriptParts {
  readonly tenantId: string;
  readonly config: Pick<Config, "services">;
  readonly ledger: Pick<Ledger, "arms">;
  readonly consents: ConsentService;
  readonly signals: SignalService;
  readonly jobs: ScriptedJobs;
  readonly attempts: AttemptService;
  readonly nowMs: () => Promise<number>;
  /** Every run of the test. */
  readonly runIds: () => readonly string[];
}

/** @throws GhoulsError configuration_invalid for an `after` that is no duration, and for a job of a service that there is not */
export function assertScript(
  { consents = [], signals = [], jobs = [] }: ScriptOptions,
  { services }: Pick<Config, "services">,
): void {
  for (const { after } of [...consents, ...signals, ...jobs]) if (after !== undefined) durationMs(after);
  const unknown = jobs.find(({ service }) => !Object.hasOwn(services, service));
  if (unknown === undefined) return;
  const names = Object.keys(services).map((name) => `"${name}"`);
  throw new GhoulsError(
    "configuration_invalid",
    `the script names the service "${unknown.service}", which the configuration has not`,
    {
      fix:
        names.length === 0
          ? `It has none: write startGhouls({ workflows, services: { "${unknown.service}": … } }).`
          : `Name one of: ${names.join(", ")}.`,
    },
  );
}

interface Act {
  readonly key: string;
  readonly atMs: number;
  readonly carryOut: () => Promise<unknown>;
}

const SIGNALLER: Actor = { subject: "service:script" };

/** What happens by itself in a test: people who decide, and services that send signals, each in its time. */
export class Script {
  readonly #parts: ScriptParts;
  readonly #done = new Set<string>();
  /** When an open wait for a signal was seen first, and which entry of its name answers it. */
  readonly #waits = new Map<string, { readonly sinceMs: number; readonly signal: ScriptedSignal }>();
  readonly #answered = new Map<string, number>();
  #consents: ScriptedConsent[] = [];
  #signals: ScriptedSignal[] = [];

  constructor(parts: ScriptParts, options: ScriptOptions) {
    this.#parts = parts;
    this.add(options);
  }

  /** @throws GhoulsError configuration_invalid, as {@link assertScript}; then nothing is added */
  add(options: ScriptOptions): void {
    assertScript(options, this.#parts.config);
    this.#consents.push(...(options.consents ?? []));
    this.#signals.push(...(options.signals ?? []));
    this.#parts.jobs.add(options.jobs ?? []);
  }

  /** Begins anew with these entries. */
  reset(options: ScriptOptions): void {
    this.#consents = [];
    this.#signals = [];
    this.#done.clear();
    this.#waits.clear();
    this.#answered.clear();
    this.#parts.jobs.reset();
    this.add(options);
  }

  /** Carries out what is due; answers whether anything was. */
  async actIfDue(runIds: readonly string[] | undefined): Promise<boolean> {
    const acts = await this.#acts(runIds);
    if (acts.length === 0) return false;
    const now = await this.#parts.nowMs();
    const due = acts.filter(({ atMs }) => atMs <= now).toSorted((a, b) => a.atMs - b.atMs);
    for (const { key, carryOut } of due) {
      this.#done.add(key);
      await carryOut();
    }
    return due.length > 0;
  }

  /** When something is due next, in milliseconds since 1970. */
  async nextDue(runIds: readonly string[] | undefined): Promise<number | undefined> {
    const moments = (await this.#acts(runIds)).map(({ atMs }) => atMs);
    return moments.length === 0 ? undefined : Math.ceil(Math.min(...moments));
  }

  async #acts(runIds: readonly string[] | undefined): Promise<readonly Act[]> {
    const ids = runIds ?? this.#parts.runIds();
    const acts = await Promise.all(
      ids.map(async (runId) => [...(await this.#decisions(runId)), ...(await this.#signalsTo(runId))]),
    );
    acts.push(this.#reports(ids));
    return acts.flat().filter(({ key }) => !this.#done.has(key));
  }

  /** Services call back. One that comes too late, because somebody has looked or cancelled meanwhile, is told so. */
  #reports(runIds: readonly string[]): Act[] {
    const { jobs, attempts } = this.#parts;
    return jobs.ends(runIds).map(({ atMs, report, submission: { attemptId, callback } }) => ({
      key: attemptId,
      atMs,
      carryOut: () =>
        attempts.report(attemptId, callback?.token, report).catch((error: unknown) => {
          if (!(error instanceof GhoulsError) || error.code !== "attempt_settled") throw error;
        }),
    }));
  }

  async #decisions(runId: string): Promise<Act[]> {
    if (this.#consents.length === 0) return [];
    const { consents, tenantId } = this.#parts;
    const open = await consents.list(tenantId, { runId, status: "PENDING" }, { limit: 100 });
    return open.consents.flatMap((consent) =>
      this.#consents.flatMap((rule, index) =>
        fits(rule, consent)
          ? [
              {
                key: `${consent.consentId} ${index}`,
                atMs: Date.parse(consent.createdAt) + millisecondsOf(rule.after),
                carryOut: () => this.#decide(consent, rule),
              },
            ]
          : [],
      ),
    );
  }

  /** The one before may have closed it. */
  async #decide({ consentId, digest }: wire.ConsentSummary, rule: ScriptedConsent): Promise<void> {
    const { consents, tenantId } = this.#parts;
    const now = await consents.get(tenantId, consentId);
    if (now?.status !== "PENDING") return;
    const { decide: verdict, comment, as } = rule;
    const word = { verdict, digest, ...(comment === undefined ? {} : { comment }) };
    await consents.decide(principalOf(tenantId, as), consentId, word);
  }

  async #signalsTo(runId: string): Promise<Act[]> {
    if (this.#signals.length === 0) return [];
    const { ledger, tenantId, signals, nowMs } = this.#parts;
    const arms = await ledger.arms.openOfRun({ tenantId, runId });
    const acts: Act[] = [];
    for (const { armId, owner, call } of arms) {
      if (owner !== "signal") continue;
      const wait = this.#waits.get(armId) ?? this.#waitOf(`${runId} ${call.name}`, call.name, await nowMs());
      if (wait === undefined) continue;
      this.#waits.set(armId, wait);
      const { name, payload, after, as = SIGNALLER } = wait.signal;
      acts.push({
        key: armId,
        atMs: wait.sinceMs + millisecondsOf(after),
        carryOut: () =>
          signals.send(principalOf(tenantId, as), runId, {
            name,
            payloadText: jsonTextOf(payload),
          }),
      });
    }
    return acts;
  }

  #waitOf(key: string, name: string, sinceMs: number) {
    const entries = this.#signals.filter((signal) => signal.name === name);
    const before = this.#answered.get(key) ?? 0;
    const signal = entries[Math.min(before, entries.length - 1)];
    if (signal === undefined) return undefined;
    this.#answered.set(key, before + 1);
    return { sinceMs, signal };
  }
}

/** Whether a consent's title is meant. */
export function isTitled(
  title: string | RegExp | undefined,
  consent: Pick<wire.ConsentSummary, "title">,
): boolean {
  if (title === undefined) return true;
  // A pattern with the flag g or y would begin where it ended before.
  return typeof title === "string" ? consent.title === title : consent.title.search(title) !== -1;
}

function fits(rule: ScriptedConsent, consent: wire.ConsentSummary): boolean {
  return isTitled(rule.title, consent) && (rule.workflow === undefined || rule.workflow === consent.workflow);
}

function millisecondsOf(after: Duration | undefined): number {
  return after === undefined ? 0 : durationMs(after);
}
