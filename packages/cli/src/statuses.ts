import { statesOf, type wire } from "@ghouls/core";
import { InvalidArgumentError } from "commander";

export type Status = wire.RunSummary["status"];

/** Statuses of runs with commas, in any case; more than one option adds up. */
export function statuses(text: string, before: readonly Status[] = []): readonly Status[] {
  const known = statesOf("run");
  const given = text.split(",").map((part) => {
    const status = known.find((each) => each === part.trim().toUpperCase());
    if (status === undefined) throw new InvalidArgumentError(`"${part}" is none of ${known.join(", ")}.`);
    return status;
  });
  return [...before, ...given];
}
