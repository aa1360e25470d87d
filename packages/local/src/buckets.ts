import { GhoulsError } from "@ghouls/core";
import type { Queues } from "./queues.ts";

/** The buckets of a project. */
export interface Buckets {
  /** Names by the variables that functions find them in. */
  readonly variables: Readonly<Record<string, string>>;
  /** Where S3 is on this machine. */
  readonly s3Url: string | undefined;
}

/**
 * Makes the buckets on the embedded server, which keeps them and their objects in the data folder. A variable that is set names
 * another bucket. Where S3 is elsewhere nothing is made.
 * @throws GhoulsError configuration_invalid where a bucket elsewhere has no name
 */
export async function openBuckets(
  buckets: Readonly<Record<string, string>>,
  env: NodeJS.ProcessEnv,
  queues: Pick<Queues, "connection" | "ended">,
): Promise<Buckets> {
  const { endpoint } = queues.connection;
  if (queues.ended === undefined || endpoint === undefined) {
    const missing = Object.keys(buckets).filter((variable) => !env[variable]);
    if (missing.length === 0) return { variables: {}, s3Url: undefined };
    throw new GhoulsError(
      "configuration_invalid",
      `${missing.join(", ")} must be set where S3 is not on this machine`,
      {
        fix: "Name a bucket that is there in each of them.",
      },
    );
  }
  const variables = Object.fromEntries(
    Object.entries(buckets).map(([variable, name]) => [variable, env[variable] || name]),
  );
  for (const name of new Set(Object.values(variables))) {
    const { status } = await fetch(new URL(`/${name}`, endpoint), { method: "PUT" });
    if (status !== 200)
      throw new GhoulsError("internal", `the bucket "${name}" cannot be made: status ${status}`);
  }
  return { variables, s3Url: Object.keys(buckets).length === 0 ? undefined : endpoint };
}
