import { parseSync } from "vite";

/** A node of a syntax tree (ESTree with TypeScript's nodes). */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** How a module is reached: "type" leaves no trace in the code, "dynamic" is `import()`. */
export type ImportKind = "static" | "type" | "dynamic";

export interface ImportEdge {
  readonly specifier: string;
  readonly kind: ImportKind;
  /** Where the specifier stands in the text, quotes included. */
  readonly start: number;
  readonly end: number;
}

/**
 * The syntax tree of a module.
 * @param file its name, which says the language by its extension
 * @throws Error where the text does not parse
 */
export function parseModule(file: string, text: string): SyntaxNode {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors.map(({ message }) => message).join("; ")}`);
  return program as unknown as SyntaxNode;
}

/** Visits a node and everything below it, parents first. */
export function visit(node: SyntaxNode, see: (node: SyntaxNode, parent?: SyntaxNode) => void): void {
  const open: [SyntaxNode, SyntaxNode | undefined][] = [[node, undefined]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [current, parent] = next;
    see(current, parent);
    const below = Object.values(current).flat().filter(isNode);
    for (const child of below.reverse()) open.push([child, current]);
  }
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

/** Every module that a module names: imports, re-exports, `import()` of a literal, and types by `import("…")`. */
export function importsOf(file: string, text: string): ImportEdge[] {
  const edges: ImportEdge[] = [];
  visit(parseModule(file, text), (node) => {
    const source = node["source"];
    if (!isNode(source) || typeof source["value"] !== "string") return;
    const kind = kindOf(node);
    if (kind === undefined) return;
    edges.push({ specifier: source["value"], kind, start: source.start, end: source.end });
  });
  return edges;
}

function kindOf(node: SyntaxNode): ImportKind | undefined {
  switch (node.type) {
    case "ImportDeclaration":
      return node["importKind"] === "type" || onlyTypes(node["specifiers"], "importKind") ? "type" : "static";
    case "ExportNamedDeclaration":
      return node["exportKind"] === "type" || onlyTypes(node["specifiers"], "exportKind") ? "type" : "static";
    case "ExportAllDeclaration":
      return node["exportKind"] === "type" ? "type" : "static";
    case "ImportExpression":
      return "dynamic";
    case "TSImportType":
      return "type";
    default:
      return undefined;
  }
}

/** `import { type A }` keeps the import of the module, but nothing of it is used in the code. */
function onlyTypes(specifiers: unknown, field: string): boolean {
  return (
    Array.isArray(specifiers) &&
    specifiers.length > 0 &&
    specifiers.every((specifier) => isNode(specifier) && specifier[field] === "type")
  );
}
