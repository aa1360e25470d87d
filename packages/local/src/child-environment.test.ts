import { expect, test } from "vitest";
import { functionEnvironment, serviceEnvironment, serviceUrlVariable } from "./child-environment.ts";

const dropped = {
  GHOULS_MIGRATION_DATABASE_URL: "m",
  GHOULS_WORKER_ID: "w",
  GHOULS_INSPECT: "1",
};
const events = { table: "e", endpoint: "http://127.0.0.1:2" };
const urls = { runs: "http://127.0.0.1:1/0/runs", "long-rites": "http://127.0.0.1:1/0/rites" };
const deadLetterUrls = { "long-rites": "http://127.0.0.1:1/0/rites-dlq" };

test("functions find what the infrastructure would set, and not what is the host's", () => {
  const credentials = { accessKeyId: "local", secretAccessKey: "local" };
  const connection = { region: "r", endpoint: "http://127.0.0.1:1", credentials };
  const env = { ...dropped, PATH: "p", AWS_PROFILE: "own", AWS_SESSION_TOKEN: "own" };
  expect(
    functionEnvironment(
      env,
      "postgres://x",
      "ghouls",
      { urls, deadLetterUrls, connection },
      events,
      "/data/releases",
    ),
  ).toEqual({
    PATH: "p",
    DATABASE_URL: "postgres://x",
    GHOULS_SCHEMA: "ghouls",
    GHOULS_RELEASES: "/data/releases",
    GHOULS_REPLAY_CHECK: "1",
    AWS_REGION: "r",
    EVENTS_TABLE: "e",
    AWS_ENDPOINT_URL_DYNAMODB: "http://127.0.0.1:2",
    GHOULS_HINT: "0",
    AWS_ENDPOINT_URL: "http://127.0.0.1:1",
    AWS_ACCESS_KEY_ID: "local",
    AWS_SECRET_ACCESS_KEY: "local",
    GHOULS_QUEUE_RUNS_URL: urls.runs,
    GHOULS_QUEUE_LONG_RITES_URL: urls["long-rites"],
    GHOULS_DEAD_LETTERS_LONG_RITES_URL: deadLetterUrls["long-rites"],
  });
});

test("where the queues are AWS's, the user's own credentials stay; and so does a no to the check of replays", () => {
  const env = { AWS_PROFILE: "own", GHOULS_REPLAY_CHECK: "0", GHOULS_RELEASES: "s3://own/place" };
  expect(
    functionEnvironment(
      env,
      "d",
      "s",
      { urls: {}, deadLetterUrls: {}, connection: { region: "r" } },
      events,
      "/data/releases",
    ),
  ).toEqual({
    AWS_PROFILE: "own",
    DATABASE_URL: "d",
    GHOULS_SCHEMA: "s",
    GHOULS_RELEASES: "s3://own/place",
    GHOULS_REPLAY_CHECK: "0",
    AWS_REGION: "r",
    EVENTS_TABLE: "e",
    AWS_ENDPOINT_URL_DYNAMODB: "http://127.0.0.1:2",
    GHOULS_HINT: "0",
  });
});

test("a database of one's own keeps its driver; the embedded one has none, and no secret is read for either", () => {
  const secrets = { DATABASE_SECRET_ARN: "arn", GHOULS_MIGRATION_DATABASE_SECRET_ARN: "arn" };
  const way = { DATABASE_DRIVER: "neon", NEON_WS_PROXY: "127.0.0.1:1/v2", DATABASE_AUTH: "password" };
  const of = (env: NodeJS.ProcessEnv) =>
    functionEnvironment(
      env,
      "d",
      "s",
      { urls: {}, deadLetterUrls: {}, connection: { region: "r" } },
      events,
      "/data/releases",
    );
  const found = {
    DATABASE_URL: "d",
    GHOULS_SCHEMA: "s",
    GHOULS_RELEASES: "/data/releases",
    GHOULS_REPLAY_CHECK: "1",
    AWS_REGION: "r",
    EVENTS_TABLE: "e",
    AWS_ENDPOINT_URL_DYNAMODB: "http://127.0.0.1:2",
    GHOULS_HINT: "0",
  };
  expect(of({ ...secrets, ...way })).toEqual(found);
  expect(of({ ...secrets, ...way, DATABASE_URL: "own" })).toEqual({ ...way, ...found });
});

test("a service of the user's has nothing that reaches the database, the queues or AWS", () => {
  const functions = { DATABASE_URL: "d", PGPASSWORD: "p", NEON_WS_PROXY: "n", EVENTS_TABLE: "e" };
  const others = { AWS_PROFILE: "a", GHOULS_TOKEN: "t", GHOULS_QUEUE_RUNS_URL: "q" };
  const env = { ...functions, ...others, PATH: "p", PORT: "80", DATA_DIR: "/else" };
  expect(serviceEnvironment(env, { port: 4_801, dataDir: "/data" })).toEqual({
    PATH: "p",
    PORT: "4801",
    DATA_DIR: "/data",
  });
});

test("the address of a service is found by its name", () => {
  expect(serviceUrlVariable("my-signer")).toBe("GHOULS_SERVICE_MY_SIGNER_URL");
});
