import { GhoulsError, wire, type Caller, type Permission } from "@ghouls/core";
import type { MiddlewareHandler } from "hono";
import type { ApiEnv } from "./context.ts";

/** The only paths that are answered without a token. */
const PUBLIC_PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/openapi.json"]);

/** Their callers have a token of another kind, for one attempt; the handler compares it. */
const CALLBACK_PATH = /^\/v1\/attempts\/[^/]+\/callback$/;

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]{1,8192}=*)$/i;

/** Denies by default: whatever is not listed as public needs a token that the authenticator knows. */
export function authentication(
  authenticate: (token: string) => Promise<Caller | undefined>,
): MiddlewareHandler<ApiEnv> {
  return async (context, next) => {
    const { path } = context.req;
    if (!PUBLIC_PATHS.has(path) && !CALLBACK_PATH.test(path)) {
      const token = BEARER.exec(context.req.header("authorization") ?? "")?.[1];
      const principal = token === undefined ? undefined : await authenticate(token);
      if (principal === undefined) {
        throw new GhoulsError("unauthenticated", "The request carries no bearer token that is known here.", {
          fix: "Send `Authorization: Bearer <token>` with a key of `ghouls keys create`, or a token of your identity provider.",
        });
      }
      context.set("principal", principal);
    }
    await next();
  };
}

/** Lets a request pass whose principal has this permission. */
export function permit(permission: Permission): MiddlewareHandler<ApiEnv> {
  return async (context, next) => {
    if (!context.get("principal").permissions.includes(permission)) {
      throw new GhoulsError(
        "forbidden",
        `This needs the permission ${permission}, which the token does not have.`,
        {
          fix: `Use a token that has the permission ${permission}, itself or by one of its roles.`,
        },
      );
    }
    await next();
  };
}

/** Lets a request pass that carries what may be a callback's token; whether it is one, the handler finds out. */
export const callbackToken: MiddlewareHandler<ApiEnv> = async (context, next) => {
  if (!wire.CALLBACK_TOKEN.test(context.req.header(wire.CALLBACK_TOKEN_HEADER) ?? "")) {
    throw new GhoulsError("unauthenticated", "The request carries no callback token.", {
      fix: "Send the token that came with the submission, in the header Ghouls-Callback-Token.",
    });
  }
  await next();
};
