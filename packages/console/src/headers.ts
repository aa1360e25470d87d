/** What a page of the console may speak to beside its own origin. */
export interface HeaderOptions {
  /** Origins such as `https://events.example.com`: of the API, of the events, of the identity provider. */
  readonly connect?: readonly string[];
}

/**
 * The headers that the console is served with, wherever that is: nothing inline, nothing from another host, no frame around it, and
 * text that becomes script nowhere (faults.md S19; W3C, "Content Security Policy Level 3" and "Trusted Types").
 */
export function consoleHeaders({ connect = [] }: HeaderOptions = {}): Readonly<Record<string, string>> {
  return {
    "content-security-policy": contentSecurityPolicy(connect),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  };
}

/** @throws Error where an origin is none: what it would allow is not what somebody meant */
export function contentSecurityPolicy(connect: readonly string[]): string {
  const odd = connect.find((origin) => !isOrigin(origin));
  if (odd !== undefined) {
    throw new Error(`"${odd}" is no origin: write it like https://api.example.com, without a path`);
  }
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `connect-src ${["'self'", ...new Set(connect)].join(" ")}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}

const isOrigin = (text: string): boolean =>
  URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text;

/** Names of assets carry a digest of what is in them, and stay; pages and the configuration are asked for each time. */
export function cacheControlOf(path: string): string {
  return path.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-store";
}
