import type { Row } from "../connection/database.ts";

/** Typed access to the columns of one row. A column that is absent or of another type is a defect, said by name. */
export interface RowOf {
  text(column: string): string;
  textOrNull(column: string): string | null;
  /** A text[]. */
  texts(column: string): readonly string[];
  number(column: string): number;
  numberOrNull(column: string): number | null;
  boolean(column: string): boolean;
  date(column: string): Date;
  dateOrNull(column: string): Date | null;
}

export function rows(row: Row): RowOf {
  const fail = (column: string, wanted: string) =>
    new TypeError(`column ${column} is ${typeof row[column]}, ${wanted} was expected`);
  const text = (column: string) => {
    const value = row[column];
    if (typeof value !== "string") throw fail(column, "text");
    return value;
  };
  // bigint and numeric come as text, because they may not fit a double; those that are read here do.
  const number = (column: string) => {
    const value = row[column];
    const parsed = typeof value === "string" ? Number(value) : value;
    if (typeof parsed !== "number" || !Number.isFinite(parsed)) throw fail(column, "a number");
    return parsed;
  };
  const date = (column: string) => {
    const value = row[column];
    if (!(value instanceof Date)) throw fail(column, "a time");
    return value;
  };
  const orNull =
    <T>(read: (column: string) => T) =>
    (column: string): T | null => {
      if (row[column] === null) return null;
      return read(column);
    };
  return {
    text,
    textOrNull: orNull(text),
    texts: (column) => {
      const value: unknown = row[column];
      if (!Array.isArray(value) || !value.every((item) => typeof item === "string"))
        throw fail(column, "a list of texts");
      return value;
    },
    number,
    numberOrNull: orNull(number),
    boolean: (column) => {
      const value = row[column];
      if (typeof value !== "boolean") throw fail(column, "a boolean");
      return value;
    },
    date,
    dateOrNull: orNull(date),
  };
}
