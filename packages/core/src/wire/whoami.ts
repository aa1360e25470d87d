import * as z from "zod";
import { PERMISSIONS } from "../permissions.ts";

/** Whom a token speaks for, and what it may do: its roles' permissions and its own. */
export const Whoami = z.object({
  tenantId: z.string(),
  /** Such as "user:ada". */
  subject: z.string(),
  roles: z.array(z.string()),
  permissions: z.array(z.enum(PERMISSIONS)),
});
export type Whoami = z.infer<typeof Whoami>;
