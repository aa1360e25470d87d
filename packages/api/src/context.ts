import type { Caller, Logger, ParsedJson } from "@ghouls/core";

/** What the middleware leaves for the handlers. */
export interface ApiEnv {
  Variables: {
    requestId: string;
    principal: Caller;
    json: ParsedJson;
  };
}

/** What both applications are given: they read neither clock nor environment. */
export interface EdgeDependencies {
  readonly authenticate: (token: string) => Promise<Caller | undefined>;
  /** Makes an id for a request that brings none. */
  readonly requestId: () => string;
  readonly log: Logger;
}

/** A fetch handler, as servers, Lambda adapters and tests take it. */
export type FetchHandler = (request: Request) => Promise<Response>;
