import type { AttemptStatus, ConsentStatus, RunStatus } from "@ghouls/core";

/** A colour by what a state means for whoever looks: not yet, under way, a person is asked, something else is waited for, ending, good, bad, off. */
export type Tone = "still" | "live" | "person" | "wait" | "ending" | "good" | "bad" | "off";

const RUN: Readonly<Record<RunStatus, readonly [Tone, string]>> = {
  QUEUED: ["still", "Queued"],
  RUNNING: ["live", "Running"],
  AWAITING_HARDWARE: ["wait", "Waiting for units"],
  AWAITING_CONSENT: ["person", "Waiting for consent"],
  AWAITING_DELEGATE: ["wait", "Waiting for a job"],
  AWAITING_CHILD: ["wait", "Waiting for a child"],
  AWAITING_SIGNAL: ["wait", "Waiting for a signal"],
  AWAITING_TIMER: ["wait", "Sleeping"],
  COMPLETING: ["ending", "Completing"],
  FAILING: ["ending", "Failing"],
  CANCELLING: ["ending", "Cancelling"],
  DONE: ["good", "Done"],
  FAILED: ["bad", "Failed"],
  CANCELLED: ["off", "Cancelled"],
};

const CONSENT: Readonly<Record<ConsentStatus, readonly [Tone, string]>> = {
  PENDING: ["person", "Pending"],
  GRANTED: ["good", "Granted"],
  DENIED: ["bad", "Denied"],
  EXPIRED: ["off", "Expired"],
  CANCELLED: ["off", "Cancelled"],
};

const ATTEMPT: Readonly<Record<AttemptStatus, readonly [Tone, string]>> = {
  DEFINED: ["still", "Defined"],
  SUBMITTING: ["live", "Submitting"],
  SUBMITTED: ["wait", "Submitted"],
  RUNNING: ["live", "Running"],
  UNCERTAIN: ["person", "Uncertain"],
  SUCCEEDED: ["good", "Succeeded"],
  FAILED: ["bad", "Failed"],
  CANCELLED: ["off", "Cancelled"],
};

export const RunStatusPill = ({ status }: { status: RunStatus }) => <Pill of={RUN[status]} code={status} />;
export const ConsentStatusPill = ({ status }: { status: ConsentStatus }) => (
  <Pill of={CONSENT[status]} code={status} />
);
export const AttemptStatusPill = ({ status }: { status: AttemptStatus }) => (
  <Pill of={ATTEMPT[status]} code={status} />
);

export const toneOfRun = (status: RunStatus): Tone => RUN[status][0];

function Pill({ of: [tone, name], code }: { of: readonly [Tone, string]; code: string }) {
  return (
    <span className={`pill tone-${tone}`} title={code}>
      {name}
    </span>
  );
}
