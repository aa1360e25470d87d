/** How the worker reaches what it carries. */
export interface Reins {
  /** Called once what is carried exists, before it runs. */
  readonly onHop: (hop: Reined) => void;
}

export interface Reined {
  /** The claim is gone, or may be: nothing is written under it any more. */
  fence(): void;
  /** The process is about to end, or the run is paused: nothing new is started. */
  drain(why: "drain" | "pause"): void;
}
