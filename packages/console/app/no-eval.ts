import * as z from "zod";

/** Before any schema is made: zod would try `new Function`, which the policy of the page refuses and reports. */
z.config({ jitless: true });
