/** Levels of a schema that are filled in: schemas may be recursive. */
const DEEP = 6;

/**
 * A JSON value to begin with for an input that a JSON Schema describes: what is required, with its defaults and first choices. It
 * need not be valid: a person goes on from it.
 */
export function sampleOf(schema: unknown, depth = 0): unknown {
  if (typeof schema !== "object" || schema === null || depth > DEEP) return null;
  const given = schema as Record<string, unknown>;
  if ("default" in given) return given["default"];
  if ("const" in given) return given["const"];
  const choice = listOf(given["enum"])[0] ?? undefined;
  if (choice !== undefined) return choice;
  const branch = [...listOf(given["anyOf"]), ...listOf(given["oneOf"])][0];
  if (branch !== undefined) return sampleOf(branch, depth + 1);
  switch ([given["type"]].flat()[0]) {
    case "object":
      return objectOf(given, depth);
    case "array":
      return Number(given["minItems"] ?? 0) > 0 ? [sampleOf(given["items"], depth + 1)] : [];
    case "string":
      return "";
    case "integer":
    case "number":
      return Number(given["minimum"] ?? 0);
    case "boolean":
      return false;
    default:
      return null;
  }
}

function objectOf(schema: Record<string, unknown>, depth: number): Record<string, unknown> {
  const properties = (schema["properties"] ?? {}) as Record<string, unknown>;
  const required = new Set(listOf(schema["required"]));
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => required.has(name))
      .map(([name, its]) => [name, sampleOf(its, depth + 1)]),
  );
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
