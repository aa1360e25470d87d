/** The globals of sst.config.ts with their types. */
export interface Components {
  readonly sst: typeof sst;
  readonly aws: typeof aws;
}

/** A value of another component, or a plain one. */
export type Value<T> = $util.Input<T>;

/** "worker-runs" as a logical name: "GhoulsWorkerRuns". One prefix, so that the project's own resources keep their names. */
export function logicalName(id: string): string {
  const words = `ghouls-${id}`.split("-");
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}
