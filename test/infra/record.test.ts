import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { configOf, createProject, type Project } from "./project.ts";
import {
  answerRpc,
  type Graph,
  type Resource,
  recordGraph,
  type RecordOptions,
} from "@ghouls/localstack-utils";

const HANDLER = "export const handler = async () => {};\n";
const FUNCTION = `new sst.aws.Function("Worker", { bundle: "built", handler: "index.handler", link });`;

let project: Project;
beforeEach(() => {
  project = createProject();
  project.write("built/index.mjs", HANDLER);
});
afterEach(() => {
  project.remove();
});

function record(statements: string, options: Partial<RecordOptions> = {}): Promise<Graph> {
  project.write("sst.config.ts", configOf(statements));
  return recordGraph({ root: project.root, stage: "test", ...options });
}

function named(graph: Graph, name: string): Resource {
  const found = graph.resources.find((resource) => resource.name === name);
  if (found === undefined) throw new Error(`${name} is not among the resources`);
  return found;
}

describe("a recording", () => {
  it("has each resource with its parents, what it waits for, and attributes that others use", async () => {
    const graph = await record(`
      const queue = new sst.aws.Queue("Runs");
      const link = [queue];
      const worker = ${FUNCTION}
      return { url: queue.url, name: worker.name };`);
    const worker = named(graph, "WorkerFunction");
    expect(worker.urn).toBe(
      "urn:pulumi:test::crypt::sst:aws:Function$aws:lambda/function:Function::WorkerFunction",
    );
    expect(worker.parent).toBe("urn:pulumi:test::crypt::sst:aws:Function::Worker");
    expect(worker.dependsOn).toContain(named(graph, "WorkerRole").urn);
    expect(worker.inputs["role"]).toBe("arn:aws:iam::123456789012:role/crypt-test-WorkerRole-bdvfbzta");
    expect(graph.app).toMatchObject({ name: "crypt", stage: "test", removal: "retain", protect: false });
    expect(graph.outputs).toMatchObject({
      url: "https://sqs.eu-central-1.amazonaws.com/123456789012/crypt-test-RunsQueue-bdvfbzta",
      name: worker.inputs["name"],
    });
    const build = graph.rpc.find(({ method }) => method === "Runtime.Build");
    expect(build?.args["links"]).toEqual({
      Runs: { type: "sst.aws.Queue", url: graph.outputs["url"] },
    });
  });

  it("is the same from time to time, and leaves nothing behind in the platform", async () => {
    const before = readdirSync(join(project.root, ".sst/platform"));
    const program = `const link = [new sst.aws.Dynamo("Events", { fields: { id: "string" }, primaryIndex: { hashKey: "id" } })];
      ${FUNCTION}`;
    expect(await record(program)).toEqual(await record(program));
    expect(readdirSync(join(project.root, ".sst/platform"))).toEqual(before);
  });

  it("is of the account and the emulator that it is asked for", async () => {
    const graph = await record(`new sst.aws.Queue("Runs");`, {
      account: "000000000000",
      sqsUrl: "http://127.0.0.1:4566",
    });
    expect(named(graph, "RunsQueue").state["url"]).toBe(
      "http://127.0.0.1:4566/000000000000/crypt-test-RunsQueue-bdvfbzta",
    );
  });

  it("knows what `sst dev` would register", async () => {
    const program = `const link: never[] = [];\n${FUNCTION}`;
    const live = named(await record(program, { dev: true }), "WorkerFunction");
    expect(live.inputs["description"]).toBe("live");
    expect(named(await record(program), "WorkerFunction").inputs["description"]).toBe("");
  });

  it("sees nothing of this process's environment but what it is given", async () => {
    process.env["GHOULS_SEEN"] = "outside";
    try {
      const program = `return { seen: process.env.GHOULS_SEEN ?? "nothing", given: process.env.GIVEN ?? "" };`;
      const graph = await record(program, { env: { GIVEN: "inside" } });
      expect(graph.outputs).toMatchObject({ seen: "nothing", given: "inside" });
    } finally {
      delete process.env["GHOULS_SEEN"];
    }
  });

  it("notes which inputs are secret, and seals a linked secret beside the code", async () => {
    const graph = await record(
      `const secret = new sst.Secret("Token");
      new aws.ssm.Parameter("Kept", { name: "/kept", type: "SecureString", value: secret.value });
      const link = [secret];
      ${FUNCTION}`,
      { secrets: { Token: "a-token-value" } },
    );
    expect(named(graph, "Kept").secrets).toEqual(["value"]);
    expect(named(graph, "Kept").inputs["value"]).toBe("a-token-value");
    expect(JSON.stringify(named(graph, "WorkerFunction"))).not.toContain("a-token-value");
    expect(readFileSync(join(project.root, "built/resource.enc"))).not.toHaveLength(0);
  });

  it("takes what exists already by its id, and lookups from what it is told", async () => {
    const graph = await record(
      `aws.sqs.Queue.get("Old", "https://sqs.example/1/old");
      return { vpc: aws.ec2.getSubnetOutput({ id: "subnet-1" }).vpcId };`,
      { answers: { "aws:ec2/getSubnet:getSubnet": { vpcId: "vpc-7" } } },
    );
    expect(named(graph, "Old")).toMatchObject({ external: true, state: { id: "https://sqs.example/1/old" } });
    expect(graph.outputs["vpc"]).toBe("vpc-7");
  });
});

describe("a recording that fails says why instead of hanging:", () => {
  const failures: readonly (readonly [why: string, program: string, message: RegExp])[] = [
    [
      "a provider function that nobody answers, whose error Pulumi loses",
      `return { zone: aws.route53.getZoneOutput({ name: "example.org" }).id };`,
      /no answer is known to aws:route53\/getZone:getZone/,
    ],
    [
      "a type whose attributes nobody knows",
      `new aws.kms.Key("Key");`,
      /no attributes are known of aws:kms\/key:Key \(Key\)/,
    ],
    [
      "an error inside of an apply",
      `new sst.aws.Queue("Runs").url.apply(() => { throw new Error("inside of an apply"); });`,
      /inside of an apply/,
    ],
    ["a program that throws", `throw new Error("no such queue");`, /no such queue/],
    [
      "an output that never comes",
      `return { never: $output(new Promise(() => {})) };`,
      /an output was never resolved/,
    ],
    ["a secret that is not set", `return { token: new sst.Secret("Token").value };`, /sst secret set Token/],
    [
      "a function that is not built",
      `new sst.aws.Function("Api", { handler: "src/api.handler" });`,
      /Api \(src\/api\.handler\) has no "bundle"/,
    ],
    [
      "a build that is not there",
      `new sst.aws.Function("Api", { bundle: "gone", handler: "index.handler" });`,
      /Api: its bundle .*gone does not exist/,
    ],
    ["a syntax error", `const = 1;`, /Expected identifier/],
  ];

  it.each(failures)("%s", async (_, program, message) => {
    await expect(record(program)).rejects.toThrow(message);
  });

  it("a program that keeps itself alive", async () => {
    await expect(record(`setInterval(() => {}, 1000);`, { timeout: 5_000 })).rejects.toThrow(
      "it had not come to rest after 5000 ms",
    );
  });

  it("an import at the top of sst.config.ts, which the command refuses", async () => {
    project.write("names.ts", `export const name = "Runs";\n`);
    project.write(
      "sst.config.ts",
      `import { name } from "./names.ts";\n${configOf("new sst.aws.Queue(name);")}`,
    );
    await expect(recordGraph({ root: project.root, stage: "test" })).rejects.toThrow(
      "sst.config.ts imports ./names.ts at its top",
    );
  });

  it("a call of the command's server that nobody answers", () => {
    const place = { account: "1", region: "eu-central-1", sqsUrl: "", answers: {} };
    expect(() => answerRpc("Provider.Aws.Unheard", {}, place, project.root)).toThrow(
      "no answer is known to the call Provider.Aws.Unheard",
    );
  });
});
