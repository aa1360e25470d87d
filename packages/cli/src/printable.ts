/**
 * One line of text for a terminal: control characters and those that reorder text are shown as escapes, so that a name
 * or a message cannot move the cursor, forge a line or hide one.
 */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    const hex = (character.codePointAt(0) ?? 0).toString(16).padStart(4, "0");
    return `\\u${hex}`;
  });
}

/** The same for text of several lines: their ends and tabs stay. */
export function printableLines(text: string): string {
  return text
    .split(/([\n\t])/)
    .map((part) => (part === "\n" || part === "\t" ? part : printable(part)))
    .join("");
}

/** Rows in aligned columns under a heading, each line ended. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [heading, ...rows].map((row) => row.map(printable));
  const widths = heading.map((_name, column) => Math.max(...cells.map((row) => (row[column] ?? "").length)));
  return cells
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

/** JSON text of a value that may hold what drivers give: bigints become strings, dates ISO texts. */
export function jsonText(value: unknown, indent?: number): string {
  return (
    JSON.stringify(
      value,
      (_key, item: unknown) => (typeof item === "bigint" ? String(item) : item),
      indent,
    ) ?? "null"
  );
}

/** A name and its value; null: there is nothing to say. */
export type Fact = readonly [name: string, value: string | null];

/** What there is to say of one thing, a line each. */
export function factsText(facts: readonly Fact[]): string {
  return facts
    .flatMap(([name, value]) => (value === null ? [] : [`${name.padEnd(12)}${printable(value)}\n`]))
    .join("");
}
