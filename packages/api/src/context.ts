import type { Logger, ParsedJson, Principal } from "@ghouls/core";

/** What the middleware leaves for the handlers. */
export interface ApiEnv {
  Variables: {
    requestId: string;
    principal: Principal;
    json: ParsedJson;
  };
}

/** What both applications are given: they read neither clock nor environment. */
export interface EdgeDependencies {
  readonly authenticate: (token: string) => Promise<Principal | undefined>;
  /** Makes an id for a request that brings none. */
  readonly requestId: () => string;
  readonly log: Logger;
}

/** A fetch handler, as servers, Lambda adapters and tests take it. */
export type FetchHandler = (request: Request) => Promise<Response>;
