/** The passes of the reconciler, in the order of a round: what one creates the next ones find. */
export const PASSES = [
  "reanimation",
  "holds",
  "deadlines",
  "timers",
  "consents",
  "delegates",
  "containment",
  "children",
  "endings",
  "seals",
  "retention",
  "dead-letters",
  "relay",
] as const;
export type PassName = (typeof PASSES)[number];
