import type { RunQuery } from "./queries.ts";

/** Of a run, or of something of it. */
export const pathOf = (runId: string, suffix = "") => `/v1/runs/${encodeURIComponent(runId)}${suffix}`;

/** The query of a list, with what was asked for and nothing else. */
export function searchOf({
  status,
  labels = {},
  ...rest
}: Omit<RunQuery, "signal" | "status"> & {
  status?: string | readonly string[];
  degradedCursor?: string;
  open?: true;
  hours?: number;
  mine?: true;
}): string {
  const search = new URLSearchParams();
  for (const each of [status ?? []].flat()) search.append("status", each);
  for (const [key, value] of Object.entries(labels)) search.append("label", `${key}:${value}`);
  for (const [name, value] of Object.entries(rest)) if (value !== undefined) search.set(name, String(value));
  return search.size === 0 ? "" : `?${search.toString()}`;
}
