import { PASSES, type PassName } from "@ghouls/core";
import { childrenPass, type ChildrenOptions } from "./passes/children.ts";
import { deadLettersPass, type DeadLettersOptions } from "./passes/dead-letters.ts";
import { consentsPass, type ConsentsPassOptions } from "./passes/consents.ts";
import { containmentPass, type ContainmentOptions } from "./passes/containment.ts";
import { deadlinesPass, type DeadlinesOptions } from "./passes/deadlines.ts";
import { delegatesPass, type DelegatesOptions } from "./passes/delegates.ts";
import { endingsPass, type EndingsOptions } from "./passes/endings.ts";
import { holdsPass, type HoldsOptions } from "./passes/holds.ts";
import { reanimationPass, type ReanimationOptions } from "./passes/reanimation.ts";
import { retentionPass, type RetentionOptions } from "./passes/retention.ts";
import { sealsPass, type SealsOptions } from "./passes/seals.ts";
import { relayPass, type RelayOptions } from "./passes/relay.ts";
import { timersPass, type TimersOptions } from "./passes/timers.ts";
import type { Pass } from "./pass.ts";

/** What the passes need, all of them together. */
export type PassesOptions = ReanimationOptions &
  HoldsOptions &
  DeadlinesOptions &
  TimersOptions &
  ConsentsPassOptions &
  DelegatesOptions &
  ContainmentOptions &
  ChildrenOptions &
  EndingsOptions &
  SealsOptions &
  RetentionOptions &
  DeadLettersOptions &
  RelayOptions;

/** Every pass there is, in the order of a round. */
export function passesOf(options: PassesOptions): readonly Pass[] {
  const passes: Readonly<Record<PassName, Pass>> = {
    reanimation: reanimationPass(options),
    holds: holdsPass(options),
    deadlines: deadlinesPass(options),
    timers: timersPass(options),
    consents: consentsPass(options),
    delegates: delegatesPass(options),
    containment: containmentPass(options),
    children: childrenPass(options),
    endings: endingsPass(options),
    seals: sealsPass(options),
    retention: retentionPass(options),
    "dead-letters": deadLettersPass(options),
    relay: relayPass(options),
  };
  return PASSES.map((name) => passes[name]);
}
