/** What a run's page shows below its head, as it stands in the address. */
export const RUN_TABS = ["timeline", "live", "data", "containment", "evidence"] as const;
export type RunTab = (typeof RUN_TABS)[number];

export function runPageSearch(given: Record<string, unknown>): { readonly tab?: RunTab } {
  const tab = RUN_TABS.find((each) => each === given["tab"]);
  return tab === undefined ? {} : { tab };
}
