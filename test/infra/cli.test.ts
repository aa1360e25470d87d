import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { startFakeAws, type FakeAws } from "./cli/fake-aws.ts";
import { ROOT, createRepositoryProject, type Project } from "./project.ts";
import { type Graph, recordGraph } from "@ghouls/localstack-utils";
import { ENVIRONMENT, VARIANTS } from "./variants.ts";

const STAGE = "smoke";
let home: string;
let aws: FakeAws;
let project: Project;
/** Both deploy one build: what is compared is what is made of it. */
const environment = { ...ENVIRONMENT, GHOULS_BUILT: inject("built") };

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "ghouls-sst-home-"));
  aws = await startFakeAws();
  project = createRepositoryProject(VARIANTS.test.config);
  // `stack init` looks in the command's own folder, whatever SST_PULUMI_PATH says.
  const bin = join(home, "sst/bin");
  mkdirSync(bin, { recursive: true });
  const pulumi = join(import.meta.dirname, "cli/fake-pulumi.ts");
  writeFileSync(join(bin, "pulumi"), `#!/bin/sh\nexec "${process.execPath}" "${pulumi}" "$@"\n`, {
    mode: 0o755,
  });
});
afterAll(() => {
  aws.close();
  project.remove();
  rmSync(home, { recursive: true });
});

/** Runs the SST command to its end; gives all that it said. */
function sst(args: readonly string[], graph: string): Promise<string> {
  const child = spawn(join(ROOT, "node_modules/.bin/sst"), [...args, "--stage", STAGE], {
    cwd: project.root,
    env: {
      ...environment,
      PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"] ?? ""}`,
      HOME: home,
      XDG_CONFIG_HOME: home,
      GHOULS_GRAPH: graph,
      AWS_ENDPOINT_URL: aws.url,
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
      AWS_REGION: "us-east-1",
      SST_PULUMI_PATH: join(home, "sst/bin/pulumi"),
      SST_TELEMETRY_DISABLED: "1",
      SST_SKIP_DEPENDENCY_CHECK: "true",
      NO_BUN: "1",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  return new Promise((resolve, reject) => {
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (said += text));
    child.once("error", reject);
    child.once("close", () => resolve(said));
  });
}

/** Nothing of a graph depends on who recorded it, but what SST asks its command. */
function registered({ resources, calls, outputs }: Graph) {
  return { resources, calls, outputs };
}

it("a recording is what the real `sst deploy` hands to Pulumi, input for input", async () => {
  const file = join(home, "graph.json");
  const said = await sst(["deploy", "--print-logs"], file);
  const log = join(project.root, ".sst/log/pulumi.err.log");
  const why = existsSync(log) ? readFileSync(log, "utf8") : "";
  expect(existsSync(file), `${said}\n${why}`).toBe(true);
  const deployed = JSON.parse(readFileSync(file, "utf8")) as Graph;
  // The settings for an emulator survive the command: it drops what is no text.
  expect(deployed.app.providers["aws"]).toMatchObject({
    "aws:region": "us-east-1",
    "aws:s3UsePathStyle": "true",
    "aws:skipCredentialsValidation": "true",
    "aws:endpoints": expect.stringContaining(`"sqs":"${aws.url}"`),
  });
  const recording = await recordGraph({ root: project.root, stage: STAGE, env: environment });
  expect(deployed.resources.length).toBeGreaterThan(90);
  expect(registered(recording)).toEqual(registered(deployed));
});
