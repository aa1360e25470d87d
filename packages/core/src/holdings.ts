import type { RunLogger } from "./logging.ts";
import type { WorkflowPin } from "./run.ts";

/**
 * What a hop holds while it lasts (design.md §3, Reservations): the word that its run may still be carried, capabilities,
 * and what its workflow has built. A parked run holds none of it; the next hop takes it anew.
 */

/** In whose name a run acts, as its admission has recorded it. */
export interface Authority {
  readonly subject: string;
  readonly roles: readonly string[];
}

/** What a workflow asks of the authority that its runs were admitted with. */
export interface RequiredAuthority {
  /** The authority must have had each of these roles at the admission, and must have them still, on every hop. */
  readonly roles: readonly string[];
}

/** What an authority check is asked before a hop: whether what was recorded at admission still holds. */
export interface AuthorityQuestion extends Authority {
  readonly tenantId: string;
  readonly runId: string;
  /** The roles that the workflow requires. */
  readonly required: readonly string[];
  readonly workflow: WorkflowPin;
}

/** Only "revoked" fails a run, and its reason is kept with it. */
export type AuthorityAnswer =
  | { readonly outcome: "valid" }
  | { readonly outcome: "revoked"; readonly reason: string };

/**
 * Says whether the recorded authority of a run still holds, on every hop of a workflow that requires one. A rejection, and
 * no answer within the owner's deadline, mean that nobody knows: the hop is given back and asks again later.
 */
export interface AuthorityCheck {
  check(question: AuthorityQuestion, signal: AbortSignal): Promise<AuthorityAnswer>;
}

/** What a provider of grants is asked on every hop. */
export interface GrantQuestion extends Authority {
  readonly tenantId: string;
  readonly runId: string;
  /** Name of the capability, such as "reports:write". */
  readonly name: string;
  readonly workflow: WorkflowPin;
  /** The delivery whose hop is to hold it: with the run's id it tells one asking from another. */
  readonly seq: number;
}

/** Only "refused" fails a run, and its reason is kept with it. */
export type GrantAnswer =
  | {
      readonly outcome: "granted";
      /** What the workflow's code gets of it, such as a token. It is not stored. */
      readonly value?: unknown;
      /** When it ends, if it does. No step starts after that: the run goes on in another hop, which takes it anew. */
      readonly expiresAt?: Date;
      /** Gives it back after the hop. A lost worker does not come to it: let what must not stay expire by itself. */
      readonly release?: () => void | Promise<void>;
    }
  | { readonly outcome: "refused"; readonly reason: string };

/**
 * Gives capabilities to hops. A rejection, and no answer within the owner's deadline, mean that nobody knows, as with an
 * {@link AuthorityCheck}; what comes after the deadline is released at once.
 */
export interface GrantProvider {
  acquire(question: GrantQuestion, signal: AbortSignal): Promise<GrantAnswer>;
}

/** A capability that a hop holds. */
export interface Grant {
  /** What the provider gave: code that uses it checks it. */
  readonly value: unknown;
  /** Undefined where it lasts for as long as the hop. */
  readonly expiresAt: Date | undefined;
}

/** What a workflow's resource is built with. */
export interface ResourceContext<GrantName extends string = string> {
  readonly tenantId: string;
  readonly runId: string;
  /** By their names, as the workflow lists them. */
  readonly grants: Readonly<Record<GrantName, Grant>>;
  readonly log: RunLogger;
  /** Fires when nobody waits for it any more; what comes later is disposed at once. */
  readonly signal: AbortSignal;
}

/**
 * Something that a workflow's steps use, such as a connection pool: built for each hop, and disposed after it. Of any type:
 * what a workflow's code gets has the type that its `build` answers.
 */
export interface ResourceDefinition<GrantName extends string = string> {
  /** A rejection, and no answer within the owner's deadline, give the hop back: a later one builds it anew. */
  build(context: ResourceContext<GrantName>): unknown;
  /**
   * Called with what was built when the hop's end is committed, with no step in flight. A lost worker does not come to it.
   * Its parameter is any: TypeScript infers no type from one member of an object to another beside it.
   */
  // oxlint-disable-next-line typescript/no-explicit-any
  dispose?(resource: any): unknown;
}

/** What a workflow's resources are once they are built. */
export type Built<Definitions> = {
  readonly [Name in keyof Definitions]: Definitions[Name] extends {
    build(...context: never[]): infer Resource;
  }
    ? Awaited<Resource>
    : never;
};
