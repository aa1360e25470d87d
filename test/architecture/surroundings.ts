import { isNode, parseModule, visit, type SyntaxNode } from "../../.ci/build-imports.ts";
import type { Source } from "./sources.ts";

/** Members of globals that give environment, time or chance, or print. "*" is any. */
const FORBIDDEN: Readonly<Record<string, readonly string[]>> = {
  process: ["env", "hrtime", "uptime", "stdout", "stderr", "argv"],
  Date: ["now"],
  Math: ["random"],
  performance: ["now", "timeOrigin"],
  crypto: ["randomUUID", "getRandomValues"],
  console: ["*"],
};
/** The same by import. */
const FORBIDDEN_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  process: ["*"],
  console: ["*"],
  perf_hooks: ["performance"],
  crypto: [
    "randomUUID",
    "randomBytes",
    "randomInt",
    "randomFillSync",
    "randomFill",
    "getRandomValues",
    "webcrypto",
  ],
};

/** Where a file reads environment, clock or chance, or prints: all of that is passed in below floor 4 (design.md §7). */
export function surroundingsUsed(source: Source): string[] {
  const found: string[] = [];
  visit(parseModule(source.path, source.text), (node) => {
    const what = memberUsed(node) ?? unpacked(node) ?? currentDate(node) ?? imported(node);
    if (what !== undefined) found.push(`${source.path}:${lineOf(source.text, node.start)} ${what}`);
  });
  return found;
}

/** `Date.now`, `globalThis.Date.now` and `process["env"]`. */
function memberUsed(node: SyntaxNode): string | undefined {
  if (node.type !== "MemberExpression") return undefined;
  const object = globalName(node["object"]);
  if (object === undefined) return undefined;
  const property = propertyName(node);
  return isForbidden(FORBIDDEN, object, property) ? `${object}.${property ?? "[…]"}` : undefined;
}

function globalName(node: unknown): string | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === "Identifier") return node["name"] as string;
  if (node.type !== "MemberExpression" || globalName(node["object"]) !== "globalThis") return undefined;
  return propertyName(node);
}

/** The name after the dot; undefined where it is computed. */
function propertyName(node: SyntaxNode): string | undefined {
  const property = node["property"];
  if (!isNode(property)) return undefined;
  if (node["computed"] !== true) return property["name"] as string;
  return typeof property["value"] === "string" ? property["value"] : undefined;
}

/** `const { env } = process`. */
function unpacked(node: SyntaxNode): string | undefined {
  if (node.type !== "VariableDeclarator" || !isNode(node["id"]) || node["id"].type !== "ObjectPattern")
    return undefined;
  const object = globalName(node["init"]);
  return object !== undefined && Object.hasOwn(FORBIDDEN, object) ? `{ … } = ${object}` : undefined;
}

/** `new Date()` and `Date()`. */
function currentDate(node: SyntaxNode): string | undefined {
  if (node.type !== "NewExpression" && node.type !== "CallExpression") return undefined;
  if (globalName(node["callee"]) !== "Date") return undefined;
  const given = node["arguments"];
  const now = node.type === "CallExpression" || (Array.isArray(given) && given.length === 0);
  return now ? "the date of now" : undefined;
}

function imported(node: SyntaxNode): string | undefined {
  if (node.type !== "ImportDeclaration" || node["importKind"] === "type" || !isNode(node["source"]))
    return undefined;
  const module = String(node["source"]["value"]).replace(/^node:/, "");
  const names = Array.isArray(node["specifiers"]) ? node["specifiers"].filter(isNode) : [];
  const forbidden = names.find((specifier) => {
    const name = isNode(specifier["imported"]) ? specifier["imported"]["name"] : undefined;
    return isForbidden(FORBIDDEN_IMPORTS, module, name as string | undefined);
  });
  return forbidden === undefined ? undefined : `import from ${module}`;
}

/** A name that is not known could be any. */
function isForbidden(
  table: Readonly<Record<string, readonly string[]>>,
  object: string,
  name: string | undefined,
): boolean {
  if (!Object.hasOwn(table, object)) return false;
  const names = table[object] ?? [];
  return name === undefined || names.includes("*") || names.includes(name);
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}
