import { GhoulsError, type Issue } from "@ghouls/core";
import type * as z from "zod";

/** Where each part of a request begins in the paths of its issues; the body's paths are plain JSON pointers. */
const PREFIX: Readonly<Record<string, string>> = { query: "/query", header: "/headers", param: "/params" };

type Validation = { readonly success: true } | { readonly success: false; readonly error: unknown };

/**
 * Called after each validation of a route's schema.
 * @throws GhoulsError invalid_request with the path of each issue
 */
export function refuseInvalid(result: Validation & { readonly target: string }): void {
  if (result.success) return;
  const error = result.error as z.core.$ZodError;
  throw new GhoulsError("invalid_request", "The request does not have the form that this route takes.", {
    issues: issuesOf(error.issues, PREFIX[result.target] ?? ""),
    fix: "Change what `errors` names; GET /openapi.json has the schema.",
  });
}

/** At most 20 issues; a key too many is named by its own path. */
function issuesOf(issues: readonly z.core.$ZodIssue[], prefix: string): Issue[] {
  return issues.slice(0, 20).flatMap((issue) => {
    const path = `${prefix}${pointer(issue.path)}`;
    if (issue.code !== "unrecognized_keys") return [{ path, message: issue.message }];
    return issue.keys.slice(0, 20).map((key) => ({
      path: `${path}${pointer([key.slice(0, 100)])}`,
      message: "there is no such field",
    }));
  });
}

/** JSON pointer, RFC 6901. */
function pointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
