import type { AnyService, Egress } from "@ghouls/core";

/** Where delegated jobs go. */
export interface Delegation {
  /** By their names in the configuration. */
  readonly services: Readonly<Record<string, AnyService>>;
  /** Whether the code names a service by an object of its own, as that of a release does: then the same executor is meant. */
  readonly byExecutor?: boolean;
  readonly egress: Egress;
  /** Address of the API as services reach it; undefined where they cannot call back. */
  readonly publicUrl: string | undefined;
  /** 256 random bits as base64url: lets whoever has it report the end of one attempt, once. It is sent, and kept nowhere. */
  readonly newToken: () => string;
}
