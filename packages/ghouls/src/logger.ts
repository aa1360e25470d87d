import type { LogFields, Logger } from "@ghouls/core";

type Level = keyof Logger;

/**
 * One JSON line for each entry, as CloudWatch takes them. Only scalar fields are written, each bounded; line breaks are
 * escaped by JSON, so that nothing can forge a line.
 */
export function jsonLogger(write: (line: string) => void, now: () => string, fixed: LogFields = {}): Logger {
  const log =
    (level: Level) =>
    (message: string, fields: LogFields = {}): void => {
      const entry: Record<string, unknown> = { time: now(), level, message: message.slice(0, 1_000) };
      for (const [key, value] of Object.entries({ ...fixed, ...fields })) {
        if (key in entry || value === undefined) continue;
        entry[key] = scalar(value);
      }
      write(`${JSON.stringify(entry)}\n`);
    };
  return { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") };
}

/** User code may log anything: what is no scalar is named by its type. */
function scalar(value: unknown): string | number | boolean | null {
  if (typeof value === "string") return value.slice(0, 1_000);
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  return `(${typeof value})`;
}

/** Lambda and the local host collect standard output. */
export function writeToStdout(line: string): void {
  process.stdout.write(line);
}
