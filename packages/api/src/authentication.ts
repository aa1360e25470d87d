import { GhoulsError, mayDo, type Authenticator, type Permission } from "@ghouls/core";
import type { MiddlewareHandler } from "hono";
import type { ApiEnv } from "./context.ts";

/** The only paths that are answered without a token. */
const PUBLIC_PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/openapi.json"]);

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]{1,8192}=*)$/i;

/** Denies by default: whatever is not listed as public needs a token that the authenticator knows. */
export function authentication(authenticate: Authenticator): MiddlewareHandler<ApiEnv> {
  return async (context, next) => {
    if (!PUBLIC_PATHS.has(context.req.path)) {
      const token = BEARER.exec(context.req.header("authorization") ?? "")?.[1];
      const principal = token === undefined ? undefined : await authenticate(token);
      if (principal === undefined) {
        throw new GhoulsError("unauthenticated", "The request carries no bearer token that is known here.", {
          fix: "Send `Authorization: Bearer <token>` with a valid token.",
        });
      }
      context.set("principal", principal);
    }
    await next();
  };
}

/** Lets a request pass whose principal has a role with this permission. */
export function permit(permission: Permission): MiddlewareHandler<ApiEnv> {
  return async (context, next) => {
    if (!mayDo(context.get("principal"), permission)) {
      throw new GhoulsError("forbidden", `This token may not do ${permission}.`, {
        fix: `Use a token of a role that has the permission ${permission}.`,
      });
    }
    await next();
  };
}
