import { wire } from "@ghouls/core";
import type { Command } from "commander";
import { wholeNumber } from "./command.ts";
import type { Io } from "./io.ts";
import { printable } from "./printable.ts";

/** Which page of a list. */
export interface PageOptions {
  readonly limit?: number;
  readonly cursor?: string;
}

/** Adds `--limit` and `--cursor`. */
export function withPage(command: Command): Command {
  return command
    .option("--limit <number>", `1 to ${wire.MAX_PAGE}`, wholeNumber(1, wire.MAX_PAGE))
    .option("--cursor <cursor>", "where the page before ended");
}

/** The query's part of it. */
export function pageOf({ limit, cursor }: PageOptions): PageOptions {
  return { ...(limit === undefined ? {} : { limit }), ...(cursor === undefined ? {} : { cursor }) };
}

/** Says how to see what a page does not show. */
export function tellMore(io: Io, { nextCursor }: { readonly nextCursor: string | null }): void {
  if (nextCursor !== null) io.err(`There are more: --cursor ${printable(nextCursor)}\n`);
}
