import { statesOf, type RunStatus } from "@ghouls/core";
import type { RunQuery } from "@ghouls/client";

/** What the list of runs filters by, as it stands in the address. */
export interface RunSearch {
  readonly status?: RunStatus[];
  readonly workflow?: string;
  /** `team:payments`; a run must have all of them. */
  readonly label?: string[];
  readonly parent?: string;
  /** Hours back from now. */
  readonly hours?: number;
  readonly attention?: true;
}

const STATES: readonly string[] = statesOf("run");
const LABEL = /^[a-z0-9][a-z0-9._/-]{0,62}:\P{Cc}{0,200}$/u;

/** Reads an address that anyone may have written: what is no filter is left out. */
export function runSearch(given: Record<string, unknown>): RunSearch {
  const status = texts(given["status"]).filter((each): each is RunStatus => STATES.includes(each));
  const label = texts(given["label"]).filter((each) => LABEL.test(each));
  const { workflow, parent, hours, attention } = given;
  return {
    ...(status.length === 0 ? {} : { status }),
    ...(typeof workflow === "string" && workflow !== "" ? { workflow } : {}),
    ...(label.length === 0 ? {} : { label }),
    ...(typeof parent === "string" && parent !== "" ? { parent } : {}),
    ...(typeof hours === "number" && hours >= 1 && hours <= 8_760 ? { hours } : {}),
    ...(attention === true ? { attention } : {}),
  };
}

const texts = (value: unknown): string[] =>
  [value].flat().filter((each): each is string => typeof each === "string");

/** The same as the API is asked. @param now milliseconds */
export function queryOf(search: RunSearch, now: number): RunQuery {
  const { status, workflow, label, parent, hours, attention } = search;
  return {
    ...(status === undefined ? {} : { status }),
    ...(workflow === undefined ? {} : { workflow }),
    ...(label === undefined ? {} : { labels: labelsOf(label) }),
    ...(parent === undefined ? {} : { parentRunId: parent }),
    ...(hours === undefined ? {} : { admittedAfter: new Date(now - hours * 3_600_000).toISOString() }),
    ...(attention === undefined ? {} : { attention }),
  };
}

export const labelsOf = (labels: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    labels.map((each) => [each.slice(0, each.indexOf(":")), each.slice(each.indexOf(":") + 1)]),
  );

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const WORKFLOW = /^[a-z0-9][a-z0-9._-]{0,99}$/i;

/** What somebody means who writes this into the search box. */
export function meaningOf(
  text: string,
):
  | { readonly kind: "run"; readonly runId: string }
  | { readonly kind: "label"; readonly label: string }
  | { readonly kind: "workflow"; readonly workflow: string }
  | undefined {
  const word = text.trim();
  if (UUID.test(word)) return { kind: "run", runId: word.toLowerCase() };
  if (LABEL.test(word)) return { kind: "label", label: word };
  return WORKFLOW.test(word) ? { kind: "workflow", workflow: word } : undefined;
}
