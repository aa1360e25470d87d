import type { wire } from "@ghouls/core";
import type { ScriptedJobs } from "./jobs.ts";

/** What is known of a run besides its view. */
export interface Circumstances {
  readonly consents: readonly wire.ConsentSummary[];
  readonly jobs: readonly wire.AttemptSummary[];
  readonly script: Pick<ScriptedJobs, "whyOpen">;
  /** What was warned of it, the latest last. */
  readonly warnings: readonly string[];
}

/** What a run waits for, in words, and what to write so that it goes on. */
export function whyItWaits(view: wire.RunView, about: Circumstances): string {
  const found = [
    ...(view.quarantine === null
      ? []
      : [`the end of its quarantine (${view.quarantine.reason}); end it with run.clear("…")`]),
    ...view.pauses.map(
      ({ scope, by, reason }) =>
        `the end of a pause of ${scope === "run" ? "the run" : scope} by ${by} (${reason})`,
    ),
    ...view.waits.map((wait) => inWords(wait, about)),
    ...view.containment
      .filter(({ acknowledgedAt }) => acknowledgedAt === null)
      .map((item) => wordAbout(item, about)),
  ];
  const what =
    found.length === 0
      ? "nothing is due that would bring it further"
      : `it waits for ${found.join(", and for ")}`;
  const attention = view.attention === null ? "" : ` [attention: ${view.attention.reason}]`;
  return `${what}${attention}${about.warnings.map((line) => `\n  log: ${line}`).join("")}`;
}

function inWords(wait: wire.OpenWait, about: Circumstances): string {
  const until = wait.dueAt === null ? "" : ` until ${wait.dueAt}`;
  const move = wait.dueAt === null ? "" : ", or move the clock with ghouls.clock.advance";
  switch (wait.kind) {
    case "consent": {
      const consent = about.consents.find(({ consentId }) => consentId === wait.consentId);
      const deciders = consent === undefined ? "" : ` (deciders ${consent.deciders.join(", ")})`;
      const left =
        consent === undefined || consent.quorum === 1
          ? ""
          : ` (${granted(consent)} of ${consent.quorum} grants)`;
      const name = consent?.title ?? wait.name;
      return `the consent "${name}"${deciders}${left}${until}; decide it with run.decide("${name}", "grant", { as: … }) or script it${move}`;
    }
    case "signal":
      return `the signal "${wait.name}"${until}; send it with run.signal("${wait.name}", …) or script it${move}`;
    case "delegate":
      return `the job "${wait.name}"${until}${atWhom(about, ({ attemptId }) => attemptId === wait.attemptId)}`;
    case "child":
      return `the child "${wait.name}" (run ${wait.childRunId})`;
    case "sleep":
    case "step":
    case "transaction":
    case "reserve":
    case "release":
      return `the ${wait.kind === "sleep" ? "timer" : "next try of step"} "${wait.name}"${until}; move the clock with ghouls.clock.advance`;
  }
}

function wordAbout({ id, kind, subject }: wire.ContainmentItem, about: Circumstances): string {
  const isOpen = (job: wire.AttemptSummary) => job.name === subject && job.closedAt === null;
  if (kind === "child") return `the end of ${subject}`;
  const whom = kind === "attempt" ? atWhom(about, isOpen) : "";
  return `somebody's word about the ${kind} "${subject}"${whom}; give it with run.resolve("${id}", "…")`;
}

function atWhom({ jobs, script }: Circumstances, isMeant: (job: wire.AttemptSummary) => boolean): string {
  const job = jobs.find(isMeant);
  return job === undefined ? "" : ` at the service "${job.service}" (${script.whyOpen(job.service)})`;
}

function granted({ decisions }: wire.ConsentSummary): number {
  return decisions.filter(({ verdict }) => verdict === "grant").length;
}
