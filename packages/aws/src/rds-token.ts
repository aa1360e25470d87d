import type { Clock } from "@ghouls/core";

export interface RdsTokenOptions {
  readonly hostname: string;
  readonly port: number;
  readonly username: string;
  readonly region: string;
  readonly clock: Clock;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

/** A token is good for 15 minutes, but not longer than the credentials that signed it. Source: RDS, "IAM database authentication". */
const KEPT_MS = 5 * 60_000;

/**
 * A function that gives a token in the place of a password, for a new connection. It is signed on this machine and kept for
 * five minutes; a connection that stands outlives its token.
 */
export function rdsTokens(options: RdsTokenOptions): () => Promise<string> {
  const { clock, hostname, port, username, region, credentials } = options;
  let kept:
    | { readonly token: Promise<string>; readonly monotonicMs: number; readonly wallMs: number }
    | undefined;
  const sign = async () => {
    const { Signer } = await import("@aws-sdk/rds-signer");
    const signer = new Signer({
      hostname,
      port,
      username,
      region,
      ...(credentials === undefined ? {} : { credentials }),
    });
    return signer.getAuthToken();
  };
  return async () => {
    const now = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
    // The larger of both: one stands still in a frozen process, the other may jump.
    const age = kept && Math.max(now.monotonicMs - kept.monotonicMs, now.wallMs - kept.wallMs);
    if (kept === undefined || age === undefined || age > KEPT_MS) kept = { token: sign(), ...now };
    const { token } = kept;
    return token.catch((error: unknown) => {
      // The next connection signs again.
      if (kept?.token === token) kept = undefined;
      throw error;
    });
  };
}
