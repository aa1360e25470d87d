import {
  canonicalText,
  parseJson,
  principalIssues,
  serialize,
  wire,
  GhoulsError,
  type Principal,
} from "@ghouls/core";
import type { Receipt } from "@ghouls/engine";
import type { CallerConnection } from "@ghouls/ledger";
import type { Config } from "./config.ts";
import { admissionOf } from "./handlers/http.ts";
import { once, openRuntime, type Runtime, type RuntimeOverrides } from "./runtime.ts";

export interface AdmitRequest extends Omit<wire.RunRequest, "input"> {
  readonly input?: unknown;
  readonly idempotencyKey?: string;
}

export interface Admitter {
  /**
   * Admits a run inside the caller's own transaction (READ COMMITTED, else it is refused by name). A rollback leaves
   * nothing. Publish the receipt after your COMMIT; the relay does if you do not.
   */
  admit(connection: CallerConnection, principal: Principal, request: AdmitRequest): Promise<Receipt>;
  publish(receipt: Receipt): Promise<void>;
  close(): Promise<void>;
}

/** Admission from an application that has the same database: its own rows and the run commit together. */
export function createAdmitter(config: Config, overrides: RuntimeOverrides = {}): Admitter {
  const runtime = once(async () => {
    const opened = await openRuntime(config, overrides);
    warnOfSleep(opened);
    return opened;
  });
  const admission = async () => admissionOf(await runtime());
  return {
    admit: async (connection, principal, asked) => {
      refusePrincipal(principal);
      const { idempotencyKey, ...body } = asked;
      if (idempotencyKey !== undefined && !wire.IdempotencyKey.safeParse(idempotencyKey).success) {
        throw new GhoulsError("invalid_request", "the idempotency key is not taken", {
          fix: "Give 1 to 200 printable ASCII characters without spaces.",
        });
      }
      const document = parseJson(serialize(body) ?? "null");
      const parsed = wire.RunRequest.safeParse(document.value);
      if (!parsed.success) {
        throw new GhoulsError("invalid_request", "the request to admit is not valid", {
          issues: parsed.error.issues.map((issue) => ({
            path: `/${issue.path.map(String).join("/")}`,
            message: issue.message,
          })),
        });
      }
      return (await admission()).admitIn(connection, principal, {
        request: parsed.data,
        canonicalRequest: document.canonical,
        inputText: document.member("input") ?? canonicalText(null),
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      });
    },
    publish: async (receipt) => (await admission()).publish(receipt),
    close: async () => (await runtime()).close(),
  };
}

/** Said once a process, on AWS: one machine has no table, and its reconciler never sleeps. */
function warnOfSleep({ config, environment, log }: Runtime): void {
  if (
    !config.reconciler.hint ||
    environment.eventsTable !== undefined ||
    environment.endpoint !== undefined
  ) {
    return;
  }
  log.warn("the reconciler is not told of runs that this process admits, and may sleep for up to an hour", {
    fix: "Set EVENTS_TABLE to the deployment's table, with dynamodb:UpdateItem on it, or turn reconciler.hint off.",
  });
}

/** An application vouches for whom it admits; a principal without these would be refused by the ledger in other words. */
function refusePrincipal(principal: Principal): void {
  const issues = principalIssues(principal);
  if (issues.length === 0) return;
  throw new GhoulsError("invalid_request", "the principal is not complete", {
    issues,
    fix: "Give { tenantId, subject, roles: [ … ] } of whoever asks for the run.",
  });
}
