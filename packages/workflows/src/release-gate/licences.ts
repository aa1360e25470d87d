import type { LockedPackage } from "./lockfile.ts";
import type { Policy } from "./policy.ts";
import type { SpdxLeaf, SpdxNode } from "./spdx.ts";
import { parseExpression, spelling } from "./spdx.ts";

/** Longest licence text that is repeated in a question, in characters. */
const MAX_SHOWN = 200;

/** What a package says about its licence. */
export type Licence =
  | {
      readonly kind: "expression";
      readonly text: string;
      readonly expression: string;
      readonly node: SpdxNode;
    }
  | { readonly kind: "missing" }
  | { readonly kind: "unlicensed"; readonly text: string }
  | { readonly kind: "file"; readonly text: string }
  | { readonly kind: "unreadable"; readonly text: string };

/** An open question: a package that the policy does not let pass, and why. */
export interface Question {
  readonly package: string;
  readonly version: string;
  readonly licence: string;
  readonly why: string;
}

export interface Judgement {
  /** "denied" where the policy says no by name, "unknown" where it says nothing. Both are questions. */
  readonly outcome: "allowed" | "denied" | "unknown";
  /** For a reader; empty for "allowed". */
  readonly why: string;
}

const ALLOWED: Judgement = { outcome: "allowed", why: "" };

/**
 * Reads the `license` field of a package in any of its forms: an SPDX expression, a policy's alias of one, the old
 * `{ type }`, or an array of these, which npm's documentation reads as a choice (docs.npmjs.com, package.json,
 * "license").
 */
export function readLicence(field: unknown, policy: Policy): Licence {
  const text = textOf(field, policy);
  if (text === undefined) return { kind: "unreadable", text: shown(JSON.stringify(field)) };
  if (text === "") return { kind: "missing" };
  if (/^unlicensed$/i.test(text)) return { kind: "unlicensed", text };
  if (/^see licen[cs]e in\b/i.test(text)) return { kind: "file", text: shown(text) };
  const expression = expressionOf(text, policy);
  const node = parseExpression(expression);
  return node === undefined
    ? { kind: "unreadable", text: shown(text) }
    : { kind: "expression", text: shown(text), expression, node };
}

/** The field as one text; "" where it is absent, undefined where it has another form. */
function textOf(field: unknown, policy: Policy): string | undefined {
  if (field === undefined || field === null) return "";
  if (!Array.isArray(field)) return partOf(field);
  const parts = field.map(partOf).filter((part) => part !== "");
  if (parts.length < 2) return parts.length === 0 ? "" : parts[0];
  const choices = parts.map((part) => expressionOf(part ?? "", policy));
  // Each must be an expression by itself: joined, two halves of nonsense might become one.
  if (choices.some((choice) => parseExpression(choice) === undefined)) return undefined;
  return choices.map((choice) => `(${choice})`).join(" OR ");
}

function partOf(part: unknown): string | undefined {
  const text = part !== null && typeof part === "object" && "type" in part ? part.type : part;
  return typeof text === "string" ? text.trim() : undefined;
}

function expressionOf(text: string, policy: Policy): string {
  return policy.aliases.get(spelling(text)) ?? text.replaceAll(/\s+/g, " ");
}

/**
 * Judges an expression: OR passes if and only if one of its sides does, AND if and only if both do. A licence "or
 * later" passes where the licence itself does, as the choice is the receiver's. A licence WITH an exception passes
 * where both are allowed, or where the policy allows that pair.
 */
export function judgeExpression(node: SpdxNode, policy: Policy): Judgement {
  if ("license" in node) return judgeLeaf(node, policy);
  const left = judgeExpression(node.left, policy);
  const right = judgeExpression(node.right, policy);
  const sides = [left, right];
  const failed = sides.filter(({ outcome }) => outcome !== "allowed");
  if (failed.length === 0) return ALLOWED;
  if (node.conjunction === "or" && failed.length < 2) return ALLOWED;
  const denied = sides.filter(({ outcome }) => outcome === "denied").length;
  const isDenied = node.conjunction === "or" ? denied === 2 : denied > 0;
  return {
    outcome: isDenied ? "denied" : "unknown",
    why: [...new Set(failed.map(({ why }) => why))].join("; "),
  };
}

function judgeLeaf(leaf: SpdxLeaf, policy: Policy): Judgement {
  if (leaf.exception === undefined) return judgeId(leaf, policy);
  if (policy.exceptions.has(`${idOf(leaf)} WITH ${leaf.exception}`)) return ALLOWED;
  const licence = judgeId(leaf, policy);
  if (licence.outcome !== "allowed" || policy.exceptions.has(leaf.exception)) return licence;
  return { outcome: "unknown", why: `the exception ${leaf.exception} is not on the policy's list` };
}

function judgeId(leaf: SpdxLeaf, policy: Policy): Judgement {
  const names = [...new Set([idOf(leaf), leaf.license])];
  for (const id of names) {
    if (policy.denied.has(id)) {
      const reason = policy.denied.get(id);
      return { outcome: "denied", why: `${id} is denied${reason === undefined ? "" : `: ${reason}`}` };
    }
    if (policy.allowed.has(id)) return ALLOWED;
  }
  return { outcome: "unknown", why: `${idOf(leaf)} is not on the policy's lists` };
}

function idOf({ license, plus }: SpdxLeaf): string {
  return plus === true ? `${license}+` : license;
}

/**
 * Judges every package that is not part of the project itself.
 * @returns the questions, one for each name, version and reason, sorted by name, then version
 */
export function judgePackages(packages: readonly LockedPackage[], policy: Policy): Question[] {
  const questions = new Map<string, Question>();
  for (const found of packages) {
    const question = judgePackage(found, policy);
    if (question !== undefined) questions.set(JSON.stringify(question), question);
  }
  return [...questions.values()].toSorted(
    (a, b) => compare(a.package, b.package) || compare(a.version, b.version) || compare(a.why, b.why),
  );
}

/** The question that a package leaves open; undefined if there is none. */
export function judgePackage(found: LockedPackage, policy: Policy): Question | undefined {
  if (found.kind === "workspace") return undefined; // the project's own code
  const version = found.version ?? "";
  const licence = readLicence(found.licence, policy);
  const text = licence.kind === "missing" ? "(none)" : licence.text;
  const review = policy.reviewed.get(`${found.name}@${version}`);
  const asReviewed = review !== undefined && (review.licence === undefined || review.licence === text);
  if (asReviewed) return undefined;
  const why = whyNot(found, licence, policy);
  if (why === undefined) return undefined;
  const outdated = review === undefined ? "" : `; it was reviewed when its licence read "${review.licence}"`;
  return { package: found.name, version, licence: text, why: why + outdated };
}

function whyNot(found: LockedPackage, licence: Licence, policy: Policy): string | undefined {
  if (found.kind === "git") {
    return `it comes from git (${found.resolved}), where no release and no integrity stand behind the licence it states`;
  }
  switch (licence.kind) {
    case "missing":
      return "the lockfile names no licence; read the package's own files";
    case "unlicensed":
      return "UNLICENSED means that its author grants no rights";
    case "file":
      return "its terms stand in a file of its own, which somebody must read";
    case "unreadable":
      return "this is no SPDX expression, and no alias in the policy";
    case "expression": {
      const { outcome, why } = judgeExpression(licence.node, policy);
      return outcome === "allowed" ? undefined : why;
    }
    default:
      return licence satisfies never;
  }
}

function shown(text: string): string {
  const cut = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  return cut.toWellFormed().replaceAll(/\p{Cc}/gu, " "); // a NUL would be refused by PostgreSQL
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
