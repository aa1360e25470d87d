import { InvalidArgumentError } from "commander";

/** One `key=value` more, beside those that were given before it. */
export function labels(
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("Give key=value, such as team=payments.");
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}
