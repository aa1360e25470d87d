import type { wire } from "@ghouls/core";

/** What a run waits for, in words, and what to write so that it goes on. */
export function whyItWaits(
  view: wire.RunView,
  consents: readonly wire.ConsentSummary[],
  warnings: readonly string[],
): string {
  const found = [
    ...(view.quarantine === null
      ? []
      : [`the end of its quarantine (${view.quarantine.reason}); end it with run.clear("…")`]),
    ...view.waits.map((wait) => inWords(wait, consents)),
    ...view.containment
      .filter(({ acknowledgedAt }) => acknowledgedAt === null)
      .map(
        ({ id, kind, subject }) =>
          `somebody's word about the ${kind} "${subject}"; give it with run.resolve("${id}", "…")`,
      ),
  ];
  const what =
    found.length === 0
      ? "nothing is due that would bring it further"
      : `it waits for ${found.join(", and for ")}`;
  const attention = view.attention === null ? "" : ` [attention: ${view.attention.reason}]`;
  return `${what}${attention}${warnings.map((line) => `\n  log: ${line}`).join("")}`;
}

function inWords(wait: wire.OpenWait, consents: readonly wire.ConsentSummary[]): string {
  const until = wait.dueAt === null ? "" : ` until ${wait.dueAt}`;
  const move = wait.dueAt === null ? "" : ", or move the clock with ghouls.clock.advance";
  switch (wait.kind) {
    case "consent": {
      const consent = consents.find(({ consentId }) => consentId === wait.consentId);
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
      return `the job "${wait.name}" at another service${until}`;
    case "sleep":
    case "step":
      return `the ${wait.kind === "sleep" ? "timer" : "next try of step"} "${wait.name}"${until}; move the clock with ghouls.clock.advance`;
  }
}

function granted({ decisions }: wire.ConsentSummary): number {
  return decisions.filter(({ verdict }) => verdict === "grant").length;
}
