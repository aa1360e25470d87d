import type { JobReport } from "@ghouls/core";
import { hasEnded, type Chance, type Job } from "./adversarial-jobs.ts";

/** Where a job may be reported, as its submission said. */
export interface CallbackTarget {
  readonly url: string;
  readonly token: string;
}

/** "report" is honest; the others are told in the name. */
type CallbackKind = "report" | "early" | "twice" | "forged" | "foreign" | "after the end";
export interface SentCallback {
  readonly key: string;
  readonly kind: CallbackKind;
  /** What it was answered; 0 where nobody did. */
  readonly status: number;
}

interface Habits {
  readonly target: CallbackTarget;
  readonly running: boolean;
  readonly end: boolean;
  readonly twice: boolean;
  readonly after: boolean;
}

interface Due extends CallbackTarget {
  readonly key: string;
  readonly kind: CallbackKind;
  readonly report: JobReport;
  /** Steps that it waits, and times that it is sent again where it was refused. */
  waits: number;
  tries: number;
}

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

/** The callbacks of a service: honest ones, and such as nobody should believe. */
export class Callbacks {
  readonly sent: SentCallback[] = [];
  readonly #note: (what: string) => void;
  readonly #stop = new AbortController();
  readonly #habits = new Map<string, Habits>();
  #due: Due[] = [];

  constructor(note: (what: string) => void) {
    this.#note = note;
  }

  /** Decides, once for each key, what is reported of it. What nobody should believe is on its way from here on. */
  learn(key: string, target: CallbackTarget, chance: Chance): void {
    if (this.#habits.has(key)) return;
    const others = [...this.#habits.values()].map((habits) => habits.target.url);
    const happens = (probability: number) => chance.happens(probability);
    const habits = { running: happens(0.5), end: happens(0.75), twice: happens(0.3), after: happens(0.4) };
    this.#habits.set(key, { target, ...habits });
    const lie: JobReport = { state: "succeeded", result: { forged: true } };
    const send = (kind: CallbackKind, to: CallbackTarget) =>
      this.#due.push({ ...to, key, kind, report: lie, waits: chance.pick([0, 1, 2]), tries: 1 });
    if (chance.happens(0.3)) {
      const token = chance.pick(["", "x", "f".repeat(target.token.length), `${target.token}x`]);
      send("forged", { url: target.url, token });
    }
    if (!chance.happens(0.3)) return;
    const nobody = target.url.replace(UUID, "00000000-0000-4000-8000-00000000dead");
    // Its own token opens no other attempt, and none of another tenant.
    send("foreign", { url: others.length > 0 ? chance.pick(others) : nobody, token: target.token });
  }

  /** Reports before the submission is answered, and waits for what that comes to. */
  async early(key: string, report: JobReport): Promise<void> {
    const habits = this.#habits.get(key);
    if (habits === undefined) return;
    await this.#send({ ...habits.target, key, kind: "early", report, waits: 0, tries: 1 });
  }

  /** A job's report has changed. */
  changed(job: Job): void {
    const { key } = job.record;
    const habits = this.#habits.get(key);
    if (habits === undefined) return;
    const { target, running, end, twice, after } = habits;
    const due = (kind: CallbackKind, report: JobReport, waits = 0, tries = 1) =>
      this.#due.push({ ...target, key, kind, report, waits, tries });
    if (!hasEnded(job)) {
      if (running) due("report", job.report);
      return;
    }
    if (!end) return;
    due(twice ? "twice" : "report", job.report, 0, 3);
    if (twice) due("twice", job.report);
    if (after) due("after the end", job.report, 1);
    if (after) due("after the end", { state: "running" }, 2);
  }

  /** Sends all that is due, at once, and waits for the answers. */
  async step(): Promise<void> {
    const now = this.#due.filter(({ waits }) => waits <= 0);
    this.#due = this.#due.filter(({ waits }) => waits > 0);
    for (const one of this.#due) one.waits -= 1;
    await Promise.all(now.map((one) => this.#send(one)));
  }

  quiet(): boolean {
    return this.#due.length === 0;
  }

  stop(): void {
    this.#due = [];
    this.#stop.abort();
  }

  async #send(due: Due): Promise<void> {
    const { url, token, key, kind, report } = due;
    if (kind !== "report") this.#note(`callback ${kind}`);
    let status = 0;
    try {
      const headers = { "content-type": "application/json", "ghouls-callback-token": token };
      const init = { method: "POST", headers, body: JSON.stringify(report), signal: this.#stop.signal };
      const response = await fetch(url, { ...init, redirect: "manual" });
      ({ status } = response);
      await response.body?.cancel();
    } catch {
      // Nobody is there: the status says so.
    }
    this.sent.push({ key, kind, status });
    const again = (status < 200 || status > 299) && due.tries > 1 && !this.#stop.signal.aborted;
    if (again) this.#due.push({ ...due, waits: 0, tries: due.tries - 1 });
  }
}
