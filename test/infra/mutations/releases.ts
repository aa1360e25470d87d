import { inputs, resource, text, variable, without, type Mutation } from "./mutation.ts";

const UPLOADS = "releases are there before the preflight, and stay when a build has them no more";
const PRIVATE = "where releases lie is private";
const PLACES = "workers and the preflight are told where releases lie";
const RELEASE = /^GhoulsRelease[0-9A-Fa-f]{32}$/;
const BLOCK = "GhoulsReleasesPublicAccessBlock";
const POLICY = "GhoulsReleasesPolicy";

export const RELEASE_MUTATIONS: readonly Mutation[] = [
  {
    check: UPLOADS,
    what: "one goes with the build after it",
    change: resource(RELEASE, ({ retainOnDelete: _kept, ...one }) => one),
  },
  {
    check: UPLOADS,
    what: "the preflight does not wait for them",
    change: resource("GhoulsPreflightInvocation", (one) => ({
      ...one,
      dependsOn: one.dependsOn.filter((urn) => !/::GhoulsRelease[0-9A-Fa-f]{32}$/.test(urn)),
    })),
  },
  {
    check: UPLOADS,
    what: "one is put into another bucket",
    change: inputs(RELEASE, { bucket: "another" }),
  },
  { check: PRIVATE, what: "it may be made public", change: inputs(BLOCK, { blockPublicPolicy: false }) },
  { check: PRIVATE, what: "nothing keeps it from being public", change: without(BLOCK) },
  { check: PRIVATE, what: "it is reached without TLS", change: without(POLICY) },
  { check: PRIVATE, what: "its policy lets somebody in", change: text(POLICY, "Deny", "Allow") },
  {
    check: PLACES,
    what: "a worker is told of another place",
    change: variable("GhoulsWorkerRunsFunction", "GHOULS_RELEASES", "s3://another/releases"),
  },
  {
    check: PLACES,
    what: "the API is told as well",
    change: variable("GhoulsApiFunction", "GHOULS_RELEASES", "s3://another/releases"),
  },
];
