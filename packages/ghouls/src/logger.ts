import { LOG_FIELDS, type LogFields, type Logger } from "@ghouls/core";

type Level = keyof Logger;

const ALLOWED: ReadonlySet<string> = new Set(LOG_FIELDS);

/** What user code may add to a line. */
const MAX_DATA_FIELDS = 30;

/**
 * One JSON line for each entry, as CloudWatch takes them. Of the fields only those of the allow list are written, each a
 * bounded scalar; what user code says stands apart, under `data`. Line breaks are escaped by JSON, so that nothing can
 * forge a line.
 */
export function jsonLogger(write: (line: string) => void, now: () => string, fixed: LogFields = {}): Logger {
  const log =
    (level: Level) =>
    (message: string, fields: LogFields = {}): void => {
      const entry: Record<string, unknown> = { time: now(), level, message: String(message).slice(0, 1_000) };
      for (const [key, value] of Object.entries({ ...fixed, ...fields })) {
        if (!ALLOWED.has(key) || value === undefined) continue;
        entry[key] = scalar(value);
      }
      if (typeof fields.data === "object") entry["data"] = dataOf(fields.data);
      write(`${JSON.stringify(entry)}\n`);
    };
  return { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") };
}

function dataOf(data: NonNullable<LogFields["data"]>): Record<string, unknown> {
  const said = Object.entries(data).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    said.slice(0, MAX_DATA_FIELDS).map(([key, value]) => [key.slice(0, 100), scalar(value)]),
  );
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
