import type { AuthorityCheck, GrantProvider } from "@ghouls/core";

/** Nobody of a test has a key. What somebody asks for a run with holds, and is what they say of themselves. */
export const authorityOfTests: AuthorityCheck = {
  check: ({ roles, required }) => {
    const missing = required.filter((role) => !roles.includes(role));
    return Promise.resolve(
      missing.length === 0
        ? { outcome: "valid" }
        : { outcome: "revoked", reason: `it was admitted without the role "${missing.join('", "')}"` },
    );
  },
};

/** No test has a grant in its ledger: each is given, without a value and without an end. */
export const grantsOfTests: GrantProvider = { acquire: () => Promise.resolve({ outcome: "granted" }) };
