import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pack } from "../pack/packed.ts";
import { output } from "../pack/run.ts";
import { problemsOf } from "./checks/all.ts";
import { ROOT, createProject, type Project } from "./project.ts";
import { recordGraph } from "@ghouls/localstack-utils";
import { ENVIRONMENT, WITHOUT_SERVICES } from "./variants.ts";

/** All that somebody writes who deploys a workflow of theirs. */
const CONFIG = `export default $config({
  app: ({ stage }) => ({ name: "shop", home: "aws", removal: stage === "production" ? "retain" : "remove" }),
  run: async () => {
    const { ghouls } = await import("@ghouls/infra");
    return ghouls({ sst, aws }, {
      config: "ghouls.config.ts",
      database: { secret: "${ENVIRONMENT.GHOULS_DATABASE_SECRET_ARN}", migrationSecret: "${ENVIRONMENT.GHOULS_MIGRATION_DATABASE_SECRET_ARN}" },
    });
  },
});
`;
const QUIET = ["--no-audit", "--no-fund", "--prefer-offline", "--loglevel", "error"];

let tarballs: string;
let project: Project;

beforeAll(async () => {
  tarballs = mkdtempSync(join(tmpdir(), "ghouls-outside-"));
  await output(process.execPath, [".ci/build.ts"], ROOT);
  const packages = await pack(tarballs);
  project = createProject();
  project.write("package.json", `{ "type": "module" }\n`);
  const files = packages.map(({ tarball }) => tarball);
  await output("npm", ["install", ...QUIET, ...files, "zod@4", "@types/node@24"], project.root);
  await output("npx", ["ghouls", "init"], project.root);
  project.write("sst.config.ts", CONFIG);
});

afterAll(() => {
  project.remove();
  rmSync(tarballs, { recursive: true });
});

describe("a project that has installed the packages", () => {
  it("deploys what the repository's own does: the same checks hold", async () => {
    const graph = await recordGraph({ root: project.root, stage: "test", env: ENVIRONMENT });
    expect(graph.app.name).toBe("shop");
    expect(problemsOf(graph, WITHOUT_SERVICES)).toEqual({});
  });

  it("is told by the compiler what an option is, against SST's own types", async () => {
    project.write("tsconfig.json", TSCONFIG);
    project.write("refused.ts", REFUSED);
    await output(
      process.execPath,
      [join(ROOT, "node_modules/typescript/bin/tsc"), "--project", "."],
      project.root,
    );
  });
});

/** The compiler says so itself where one of these is let through. */
const REFUSED = `import { ghouls } from "@ghouls/infra";
const database = { secret: "arn:aws:secretsmanager:us-east-1:1:secret:a-AbCdEf", migrationSecret: "arn:aws:secretsmanager:us-east-1:1:secret:b-AbCdEf" };
export const outputs = () => ghouls({ sst, aws }, { config: "ghouls.config.ts", database });
// @ts-expect-error the globals of sst.config.ts are handed over
ghouls({ sst }, { config: "ghouls.config.ts", database });
// @ts-expect-error a connection string is no secret's ARN by name
ghouls({ sst, aws }, { config: "ghouls.config.ts", database: { url: "postgres://app@db.example/app" } });
// @ts-expect-error a VPC is given with its subnets
ghouls({ sst, aws }, { config: "ghouls.config.ts", database, vpc: { id: "vpc-1" } });
// @ts-expect-error the types are SST's own
new sst.aws.Queue("Orders", { visibilityTimeout: "soon" });
`;

const TSCONFIG = JSON.stringify({
  compilerOptions: {
    target: "es2022",
    lib: ["es2022", "dom"],
    module: "esnext",
    moduleResolution: "bundler",
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: ["node"],
  },
  include: [".sst/platform/config.d.ts", "sst.config.ts", "refused.ts"],
});
