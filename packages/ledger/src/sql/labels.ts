/**
 * That a `run` has each of these labels: keys and values in two parameters; of no labels every run. Counted run by run: as a
 * join, a plan may begin with all the labels that there are.
 */
export function hasLabels(keys: string, values: string): string {
  return `(cardinality(${keys}::text[]) = 0 or (
    select count(*) from ghouls.labels label
    join unnest(${keys}::text[], ${values}::text[]) as wanted(key, value) on wanted.key = label.key and wanted.value = label.value
    where label.tenant_id = run.tenant_id and label.run_id = run.run_id) = cardinality(${keys}::text[]))`;
}

/** The two parameters, in one order of the keys. */
export function labelValues(labels: Readonly<Record<string, string>> = {}): [string[], string[]] {
  const sorted = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return [sorted.map(([key]) => key), sorted.map(([, value]) => value)];
}
