import { QUEUE_NAME } from "@ghouls/core";
import * as z from "zod";

/** What `ghouls dev` runs beside a project; nothing of it concerns a deploy. */
export interface DevOptions {
  /**
   * Services of the project's own, each a process of its own, by name. The module is relative to the configuration. It listens on
   * `PORT` of 127.0.0.1 (0: any, and the same one at the next start), keeps what it keeps in `DATA_DIR`, and says that it is ready by
   * `process.send?.({ type: "ready", port })`. Functions find its address in `GHOULS_SERVICE_<NAME>_URL`; where that is set
   * before, nothing is started.
   */
  readonly services?: Readonly<Record<string, { readonly module: string }>>;
  /**
   * Names of S3 buckets by the environment variable that functions find them in, such as `{ UPLOADS_BUCKET: "uploads" }`. They are
   * made on this machine's S3 server; where S3 is elsewhere, the variables must be set.
   */
  readonly buckets?: Readonly<Record<string, string>>;
}

export interface DevSettings {
  readonly services: Readonly<Record<string, { readonly module: string }>>;
  readonly buckets: Readonly<Record<string, string>>;
}

/** Processes of the host have these names. */
const HOSTS_OWN = new Set([
  "api",
  "code",
  "host",
  "postgres",
  "postgres-keeper",
  "reconciler",
  "sqs",
  "worker",
]);
/** Variables that mean something else to a function. */
const TAKEN = /^(AWS|DATABASE|GHOULS|NODE|PG|npm)_|^(EVENTS_TABLE|HOME|PATH|PWD|TMPDIR)$/;

export const DevShape = z
  .strictObject({
    services: z
      .record(
        z
          .string()
          .regex(QUEUE_NAME, "lower-case letters, digits and -, at most 32")
          .refine((name) => !HOSTS_OWN.has(name), "is a process of the host: give yours another name"),
        z.strictObject({
          module: z
            .string()
            .regex(/\.[cm]?[jt]s$/, 'a module beside the configuration, such as "./src/signer/main.ts"'),
        }),
      )
      .default({}),
    buckets: z
      .record(
        z
          .string()
          .regex(/^[A-Z][A-Z0-9_]{0,99}$/, 'an environment variable, such as "UPLOADS_BUCKET"')
          .refine((name) => !TAKEN.test(name), "means something else: give the variable another name"),
        z
          .string()
          .regex(
            /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/,
            "3 to 63 lower-case letters, digits and -, a letter or digit first and last",
          ),
      )
      .default({}),
  })
  .prefault({});
