import { GhoulsError, describeFailure, type Authenticator, type Principal } from "@ghouls/core";
import type * as Jose from "jose";

export interface JwksOptions {
  /** Who issues the tokens, exactly as their `iss` says it. */
  readonly issuer: string;
  /** Whom the tokens are for: their `aud` must have one of these. */
  readonly audience: string | readonly string[];
  /** Where the issuer's keys are; `<issuer>/.well-known/jwks.json` where absent. */
  readonly jwksUrl?: string;
  /** The claim that has the tenant, such as "org_id". A token without it is refused. */
  readonly tenantClaim: string;
  /** The claim that has the subject; "sub" where absent. */
  readonly subjectClaim?: string;
  /** The claim that has the names of roles, as a list or as words; no roles where absent. */
  readonly rolesClaim?: string;
  /** What may have signed; RS256, ES256 and EdDSA where absent. Keys that are shared are never taken. */
  readonly algorithms?: readonly string[];
  /** Seconds by which clocks may differ; 5 where absent. */
  readonly clockToleranceSeconds?: number;
}

/** A longer text is no token of a person, in characters. */
const LONGEST = 8_192;
const ALGORITHMS = ["RS256", "ES256", "EdDSA"];
const ASYMMETRIC = /^(RS|PS|ES)(256|384|512)$|^EdDSA$|^Ed25519$/;
const TIMES = {
  /** Between two questions for keys that are not known, and what one may take, in milliseconds. */
  cooldownMs: 30_000,
  timeoutMs: 3_000,
  /** How long keys are believed once they have come, and how much longer where the issuer does not answer, in milliseconds. */
  freshMs: 600_000,
  staleMs: 3_600_000,
};

/**
 * Verifies JWTs of an identity provider by the keys that it publishes (a JWKS), for `auth` of the configuration. Signature,
 * issuer, audience and expiry are required; tenant, subject and roles come from verified claims and nowhere else. Permissions
 * come from roles: no claim gives one.
 * @throws GhoulsError configuration_invalid for options that cannot be meant; when called, identity_unavailable where the keys
 * are out of reach and none are known: nobody is taken for a stranger then
 * @param times other ones than a deployment has, for tests
 */
export function jwks(options: JwksOptions, times = TIMES): Authenticator {
  const { issuer, audience, tenantClaim, subjectClaim = "sub", rolesClaim } = options;
  const url = urlOf(options);
  const algorithms = [...(options.algorithms ?? ALGORITHMS)];
  const shared = algorithms.find((one) => !ASYMMETRIC.test(one));
  if (shared !== undefined)
    throw refusal(`the algorithm "${shared}" is not taken`, "Name asymmetric ones, such as RS256.");
  if (tenantClaim === "" || issuer === "" || audience.length === 0)
    throw refusal(
      "issuer, audience and tenantClaim must be given",
      "Give all three: who is not meant is refused.",
    );
  const keys = openKeys(url, times);
  return async (token) => {
    if (token.length > LONGEST || token.split(".").length !== 3) return undefined;
    const payload = await keys.verify(token, {
      issuer,
      audience: typeof audience === "string" ? audience : [...audience],
      algorithms,
      clockTolerance: options.clockToleranceSeconds ?? 5,
      requiredClaims: ["exp", "iss", "aud", subjectClaim, tenantClaim],
    });
    return payload === undefined
      ? undefined
      : principalOf(payload, { tenantClaim, subjectClaim, rolesClaim });
  };
}

function refusal(message: string, fix: string): GhoulsError {
  return new GhoulsError("configuration_invalid", `jwks: ${message}`, { fix });
}

/** Keys that come over an open network could be anybody's. */
function urlOf({ issuer, jwksUrl }: JwksOptions): URL {
  const text = jwksUrl ?? `${issuer.replace(/\/+$/, "")}/.well-known/jwks.json`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isLocal = url?.protocol === "http:" && ["127.0.0.1", "localhost", "[::1]"].includes(url.hostname);
  if (url !== undefined && (url.protocol === "https:" || isLocal)) return url;
  throw refusal(`"${text.slice(0, 200)}" is no https address of keys`, 'Give jwksUrl: "https://…".');
}

/** The keys of one issuer, loaded with the first token; the library is as well, since most functions never see one. */
function openKeys(url: URL, { cooldownMs, timeoutMs, freshMs, staleMs }: typeof TIMES) {
  let loading: Promise<{ jose: typeof Jose; remote: ReturnType<typeof Jose.createRemoteJWKSet> }> | undefined;
  let knownAt = Number.NEGATIVE_INFINITY;
  const load = async () => {
    const jose = await import("jose");
    const remote = jose.createRemoteJWKSet(url, {
      cooldownDuration: cooldownMs,
      timeoutDuration: timeoutMs,
      cacheMaxAge: freshMs,
    });
    return { jose, remote };
  };
  return {
    /** The claims of a token; undefined for one that is not to be believed. */
    verify: async (token: string, how: Jose.JWTVerifyOptions): Promise<Jose.JWTPayload | undefined> => {
      const { jose, remote } = await (loading ??= load());
      try {
        const { payload } = await jose.jwtVerify(token, remote, how);
        knownAt = performance.now();
        return payload;
      } catch (error) {
        if (isOfToken(error, jose)) return undefined;
        const known = remote.jwks();
        if (known === undefined || performance.now() - knownAt > freshMs + staleMs) throw unavailable(error);
        return byKnown(token, known, how, jose);
      }
    },
  };
}

/** By the keys of before, while their issuer does not answer. A key that is not among them may be new: nobody knows. */
async function byKnown(
  token: string,
  known: Jose.JSONWebKeySet,
  how: Jose.JWTVerifyOptions,
  jose: typeof Jose,
): Promise<Jose.JWTPayload | undefined> {
  try {
    return (await jose.jwtVerify(token, jose.createLocalJWKSet(known), how)).payload;
  } catch (error) {
    if (error instanceof jose.errors.JWKSNoMatchingKey) throw unavailable(error);
    if (isOfToken(error, jose)) return undefined;
    throw unavailable(error);
  }
}

function unavailable(error: unknown): GhoulsError {
  return new GhoulsError("identity_unavailable", "the identity provider's keys are out of reach", {
    fix: "Ask again later.",
    cause: describeFailure(error).name,
  });
}

/** Whether the token is to blame, and not the way to the keys. */
function isOfToken(error: unknown, { errors }: typeof Jose): boolean {
  return [
    errors.JWTClaimValidationFailed,
    errors.JWTExpired,
    errors.JWTInvalid,
    errors.JWSInvalid,
    errors.JWSSignatureVerificationFailed,
    errors.JOSEAlgNotAllowed,
    errors.JOSENotSupported,
    errors.JWKSNoMatchingKey,
    errors.JWKSMultipleMatchingKeys,
  ].some((kind) => error instanceof kind);
}

/** Undefined where a claim is not what it should be: a tenant of two, a subject that is none. */
function principalOf(
  claims: Jose.JWTPayload,
  names: {
    readonly tenantClaim: string;
    readonly subjectClaim: string;
    readonly rolesClaim: string | undefined;
  },
): Principal | undefined {
  const [tenantId, subject] = [claims[names.tenantClaim], claims[names.subjectClaim]];
  if (!isName(tenantId) || !isName(subject)) return undefined;
  const given = names.rolesClaim === undefined ? [] : claims[names.rolesClaim];
  const roles = typeof given === "string" ? given.split(/\s+/).filter((role) => role !== "") : (given ?? []);
  if (!Array.isArray(roles) || !roles.every(isName)) return undefined;
  return { tenantId, subject, roles };
}

const isName = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && value.length <= 200 && !/\p{Cc}/u.test(value);
