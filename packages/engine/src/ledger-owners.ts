import type { AuthorityCheck, GrantProvider } from "@ghouls/core";
import type { Ledger } from "@ghouls/ledger";

/**
 * The authority check of the ledger's keys: what was recorded at the admission holds while its subject has a key in the run's
 * tenant that can be used, and each required role is one that it was admitted with and that such a key still has. A role of
 * another key that it got since then makes no run more than its admission.
 */
export function createKeyAuthority(ledger: Pick<Ledger, "keys">): AuthorityCheck {
  return {
    check: async ({ tenantId, subject, roles, required }) => {
      const never = required.filter((role) => !roles.includes(role));
      if (never.length > 0)
        return {
          outcome: "revoked",
          reason: `it was admitted without the role ${inWords(never)}: submit it with a key that has that`,
        };
      const usable = await ledger.keys.rolesOfSubject({ tenantId, subject });
      if (usable === null)
        return { outcome: "revoked", reason: "it has no key that is neither revoked nor expired" };
      const lost = required.filter((role) => !usable.includes(role));
      if (lost.length === 0) return { outcome: "valid" };
      return { outcome: "revoked", reason: `no usable key of it has the role ${inWords(lost)}` };
    },
  };
}

function inWords(roles: readonly string[]): string {
  return roles.map((role) => `"${role}"`).join(", ");
}

/** The provider of the ledger's grants: a capability that the run's subject, or a role that it was admitted with, has now. */
export function createLedgerGrants(ledger: Pick<Ledger, "grants">): GrantProvider {
  return {
    acquire: async ({ tenantId, name, subject, roles }) => {
      const holders = [holderOf(subject), ...roles.map((role) => `role:${role}`)];
      const grant = await ledger.grants.live({ tenantId, name }, holders);
      if (grant === null) {
        const who = holders.join(", ");
        const reason = `in tenant "${tenantId}" no grant that is neither revoked nor expired names ${who}; \`ghouls grants create ${name} --tenant ${tenantId} --holder ${holders[0]}\` makes one`;
        return { outcome: "refused", reason };
      }
      return { outcome: "granted", ...(grant.expiresAt === null ? {} : { expiresAt: grant.expiresAt }) };
    },
  };
}

/** How grants may name a subject, as consents name deciders: "user:ada" is "user:ada", or "ada". A subject is never a role. */
function holderOf(subject: string): string {
  return subject.startsWith("user:") ? subject : `user:${subject}`;
}
