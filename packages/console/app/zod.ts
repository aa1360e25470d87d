import * as z from "zod/v4";

/**
 * Stands for `zod` in everything that the console is built of (vite.config.ts), so that this is said before any schema is made,
 * whatever is loaded first: zod would try `new Function`, which the policy of the page refuses and reports.
 */
z.config({ jitless: true });

export * from "zod/v4";
