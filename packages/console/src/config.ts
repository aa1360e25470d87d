/** What a console reads at its start from `/config.json`. No secret is in it: whoever can load the page can read it. */
export interface ConsoleConfig {
  /** Where the API is; empty for the origin that serves the console. */
  readonly apiUrl: string;
  /** Where events stream; empty for the same origin. Where absent, the API is polled. */
  readonly eventsUrl?: string;
  /** An OpenID provider whose tokens the API takes: people sign in there. Where absent, they paste a token. */
  readonly oidc?: {
    readonly issuer: string;
    readonly clientId: string;
    /** "openid" where absent. */
    readonly scope?: string;
  };
}

export function configText({ apiUrl, eventsUrl, oidc }: ConsoleConfig): string {
  return `${JSON.stringify({
    apiUrl,
    ...(eventsUrl === undefined ? {} : { eventsUrl }),
    ...(oidc === undefined ? {} : { oidc }),
  })}\n`;
}
