import { sqlStateOf } from "./errors.ts";

/** Of the operating system: nobody listens yet, or who listened has gone. */
const SYSTEM = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ETIMEDOUT",
  "EPIPE",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EAI_AGAIN",
]);

/** What node-postgres says where a connection did not stand in time or was dropped; it gives no code. */
const DROPPED = /^Connection terminated|timeout expired|timeout exceeded when trying to connect/i;

/**
 * Whether a connection that could not be made may stand a moment later: a compute that wakes up, a server that starts, a
 * pooler without a server yet. Nothing had been sent.
 */
export function mayComeSoon(error: unknown): boolean {
  if (isRefused(error)) return false;
  const sqlState = sqlStateOf(error);
  if (sqlState !== undefined)
    return sqlState === "57P03" || sqlState === "53300" || sqlState.startsWith("08");
  // Neon's driver rejects with the ErrorEvent of its WebSocket, which is no Error and has no code.
  if (!(error instanceof Error)) return true;
  if ("code" in error && typeof error.code === "string") return SYSTEM.has(error.code);
  return DROPPED.test(error.message);
}

/** What a pooler says of a password that it does not take: pgbouncer gives it the code of any fault of the protocol. */
const AUTHENTICATION = /\bauthentication failed\b/i;

/** Whether the server did not take the password or the role: the secret may have been rotated. */
export function isRefused(error: unknown): boolean {
  const sqlState = sqlStateOf(error);
  if (sqlState === "08P01") return error instanceof Error && AUTHENTICATION.test(error.message);
  return sqlState === "28P01" || sqlState === "28000";
}
