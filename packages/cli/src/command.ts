import { type Command, InvalidArgumentError } from "commander";
import { failureText, CommandError, EXIT, reportOf } from "./failure.ts";
import type { Io } from "./io.ts";

/** Options that every command has. */
export interface CommonOptions {
  readonly json?: boolean;
}

/** What a command is made with: its world, and where its exit code goes. */
export interface Context {
  readonly io: Io;
  exit(code: number): void;
}

/**
 * An action of commander around one that answers with its exit code: whatever it throws becomes a text on stderr and a
 * code other than 0.
 */
export function act<A extends unknown[]>(
  context: Context,
  options: () => CommonOptions,
  action: (...args: A) => Promise<number>,
): (...args: A) => Promise<void> {
  return async (...args) => {
    try {
      context.exit(await action(...args));
    } catch (thrown) {
      context.io.err(failureText(reportOf(thrown), options().json === true));
      context.exit(thrown instanceof CommandError ? thrown.exitCode : EXIT.failed);
    }
  };
}

/** Adds `--json`. */
export function withJson(command: Command): Command {
  return command.option("--json", "print JSON, also for what is refused");
}

/** Adds what finds the API. */
export function withApi(command: Command): Command {
  return withJson(command)
    .option("--api <url>", "address of the API (else GHOULS_API_URL, else the running `ghouls dev`)")
    .option("--data-dir <folder>", "data folder of `ghouls dev`", ".ghouls");
}

/** A parser of whole numbers in a range, for commander. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= least && value <= most))
      throw new InvalidArgumentError(`Give a whole number from ${least} to ${most}.`);
    return value;
  };
}
