import { isNode, parseModule, visit } from "../../.ci/build-imports.ts";
import { packageNamed } from "./floors.ts";
import { importsIn, type Source } from "./sources.ts";

const DRIVERS = ["pg", "@neondatabase/serverless", "postgres"];
const STATEMENT = /\b(insert\s+into|update|delete\s+from|select)\b[^]*\bghouls\./i;

/** Drivers imported and statements written outside of the package that owns them. */
export function sqlOutside(sources: readonly Source[]): string[] {
  return sources.flatMap((source) => {
    const drivers = importsIn(source)
      .filter(({ specifier }) => DRIVERS.includes(packageNamed(specifier)))
      .map(({ specifier }) => `${source.path} imports ${specifier}`);
    const statements = textsOf(source)
      .filter((text) => STATEMENT.test(text))
      .map((text) => `${source.path} says ${text.trim().slice(0, 60)}`);
    return [...drivers, ...statements];
  });
}

/** The strings of a module; a template as one, with nothing where its values go. */
function textsOf({ path, text }: Source): string[] {
  const texts: string[] = [];
  visit(parseModule(path, text), (node) => {
    if (node.type === "Literal" && typeof node["value"] === "string") texts.push(node["value"]);
    if (node.type !== "TemplateLiteral" || !Array.isArray(node["quasis"])) return;
    const parts = node["quasis"].filter(isNode).map((quasi) => quasi["value"] as { readonly raw: string });
    texts.push(parts.map(({ raw }) => raw).join(""));
  });
  return texts;
}

/** Words and signs of a statement, lower case, without comments and literals. */
function tokensOf(text: string): string[] {
  const bare = text
    .replace(/\/\*[^]*?\*\/|--[^\n]*/g, " ")
    .replace(/'(?:[^']|'')*'/g, " ' ")
    .toLowerCase();
  return bare.match(/"[^"]+"|\$\d+|[a-z_][\w.]*|\d+|[^\s\w]/g) ?? [];
}

/** Words that end a list of tables. */
const ENDS = new Set(
  "where group order having limit offset for do set returning union except intersect window select values".split(
    " ",
  ),
);
/** Functions whose arguments hold a `from` that names no table. */
const WITH_FROM = new Set(["extract", "substring", "trim", "overlay", "position"]);

/** Tables of a statement that do not say their schema: only what the statement itself names needs none. */
export function tablesWithoutSchema(text: string): string[] {
  const tokens = tokensOf(text);
  const named = withNames(tokens);
  const bad = (index: number, functions: boolean): string[] =>
    needsSchema(tokens, index, named, functions) ? [tokens[index] ?? ""] : [];
  return tokens.flatMap((token, index) => {
    const lists = token === "from" ? namesTables(tokens, index) : token === "using";
    if (lists) return itemsOf(tokens, index + 1).flatMap((item) => bad(item, true));
    if (token === "join") return bad(afterModifiers(tokens, index + 1), true);
    const updates = token === "update" && !["for", "do", "key"].includes(tokens[index - 1] ?? "");
    return updates || token === "into" ? bad(afterModifiers(tokens, index + 1), false) : [];
  });
}

/** Names before `as (`, with or without a list of columns. */
function withNames(tokens: readonly string[]): ReadonlySet<string> {
  const names = tokens.flatMap((token, index) => {
    if (token !== "as") return [];
    const next = tokens.slice(index + 1).find((word) => word !== "not" && word !== "materialized");
    if (next !== "(") return [];
    const before = tokens[index - 1] ?? "";
    if (before !== ")") return [before];
    return [tokens[tokens.lastIndexOf("(", index) - 1] ?? ""];
  });
  return new Set(names);
}

/** Whether a `from` begins a list of tables: not in `is distinct from`, nor in `extract(epoch from …)`. */
function namesTables(tokens: readonly string[], from: number): boolean {
  if (tokens[from - 1] === "distinct" && tokens[from - 2] !== "select") return false;
  let depth = 0;
  for (let index = from - 1; index >= 0; index -= 1) {
    if (tokens[index] === ")") depth += 1;
    if (tokens[index] === "(") depth -= 1;
    if (depth < 0) return !WITH_FROM.has(tokens[index - 1] ?? "");
  }
  return true;
}

/** Where the items of a list that begins at a token begin; joins belong to the item before them. */
function itemsOf(tokens: readonly string[], start: number): number[] {
  const first = afterModifiers(tokens, start);
  // `using (a, b)` names columns, and `select from where` no table.
  if (tokens[start - 1] === "using" && tokens[first] === "(") return [];
  const items = ENDS.has(tokens[first] ?? "") ? [] : [first];
  let depth = 0;
  for (let index = first; index < tokens.length && depth >= 0; index += 1) {
    const token = tokens[index] ?? "";
    if (token === "(") depth += 1;
    else if (token === ")") depth -= 1;
    else if (depth === 0 && ENDS.has(token)) return items;
    else if (depth === 0 && token === ",") items.push(afterModifiers(tokens, index + 1));
  }
  return items;
}

function afterModifiers(tokens: readonly string[], index: number): number {
  return ["lateral", "only"].includes(tokens[index] ?? "") ? index + 1 : index;
}

function needsSchema(
  tokens: readonly string[],
  index: number,
  named: ReadonlySet<string>,
  functions: boolean,
): boolean {
  const token = tokens[index] ?? "(";
  if (token === "(" || token.startsWith("ghouls.") || named.has(token)) return false;
  return !(functions && tokens[index + 1] === "(");
}

/** Whether a statement reads or writes rows that belong to a tenant. */
export function touchesTenants(text: string): boolean {
  return tokensOf(text).some((token) => /^ghouls\.(runs|deliveries|journal|api_keys)$/.test(token));
}

/** Whether a statement says tenant_id in its code at all. */
export function namesTenant(text: string): boolean {
  return tokensOf(text).some((token) => /^([a-z_]\w*\.)?tenant_id$/.test(token));
}

/** Whether a statement is bound to tenants that its caller names: by a parameter, or by a column of an unnested one. */
export function boundToTenant(text: string): boolean {
  const words = tokensOf(text).join(" ");
  return (
    /\btenant_id = \$\d/.test(words) ||
    /\bunnest \([^]*\) (?:with ordinality )?as \w+ \( [^)]*\btenant_id\b/.test(words)
  );
}
