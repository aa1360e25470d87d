/** A value of the deployment that is known only when its resource exists, such as "${queue.runs.arn}". */
export type Reference = `\${${string}}`;

/** Writes a reference. */
export function ref(name: string): Reference {
  return `\${${name}}`;
}

const REFERENCE = /\$\{([^}]+)\}/g;

/** The names that a text refers to, in their order. */
export function referencesIn(text: string): string[] {
  return [...text.matchAll(REFERENCE)].map(([, name]) => name ?? "");
}
