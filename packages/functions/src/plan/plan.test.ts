import { describe, expect, it, test } from "vitest";
import { GhoulsError, QueueSettings } from "@ghouls/core";
import { referencesIn } from "./names.ts";
import type { PlanOptionsInput } from "./options.ts";
import { planDeployment, type PlannedConfig } from "./plan.ts";

const queues = (settings: Readonly<Record<string, object>>) =>
  Object.fromEntries(Object.entries(settings).map(([name, one]) => [name, QueueSettings.parse(one)]));
const CONFIG: PlannedConfig = {
  queues: queues({ runs: {}, rites: { batchSize: 1 } }),
  database: { schema: "ghouls", poolSize: 2 },
  reconciler: { hint: true },
  services: {},
};
const SERVICES = { services: { signer: { times: { timeoutMs: 5_000 } } } };
const plan = (options: PlanOptionsInput = {}, config: Partial<PlannedConfig> = {}) =>
  planDeployment({ ...CONFIG, ...config }, options);
const refused = (make: () => unknown): GhoulsError => {
  try {
    make();
  } catch (error) {
    if (error instanceof GhoulsError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
};
const functionOf = (id: string, options?: PlanOptionsInput, config?: Partial<PlannedConfig>) => {
  const found = plan(options, config).functions.find((one) => one.id === id);
  if (found === undefined) throw new Error(`no function ${id}`);
  return found;
};
const may = (id: string, options?: PlanOptionsInput, config?: Partial<PlannedConfig>) =>
  Object.fromEntries(
    functionOf(id, options, config).statements.map(({ sid, ...statement }) => [sid, statement]),
  );

describe("a plan", () => {
  it("has a worker for each queue, whose messages are hidden as long as it may run", () => {
    const { queues: planned, functions } = plan({}, { queues: queues({ slow: { functionTimeout: "90s" } }) });
    expect(planned).toHaveLength(1);
    expect(planned[0]).toMatchObject({
      visibilitySeconds: 90,
      mapping: { function: "worker-slow", responses: "ReportBatchItemFailures", maximumConcurrency: 2 },
      deadLetter: { retentionSeconds: 1_209_600 },
    });
    expect(functions.find(({ id }) => id === "worker-slow")?.timeoutSeconds).toBe(90);
  });

  it("has a queue and its senders, and no function, for what processes serve; and says what those need", () => {
    const made = plan(
      { database: { auth: "iam" } },
      {
        ...SERVICES,
        queues: queues({ runs: {}, long: { worker: "process", concurrency: 1, functionTimeout: "12h" } }),
      },
    );
    expect(made.queues[1]).toMatchObject({
      name: "long",
      mapping: null,
      senders: ["admission", "reconciler"],
      deadLetter: { maxReceiveCount: 20 },
    });
    expect(made.functions.map(({ id }) => id)).not.toContain("worker-long");
    expect(made.alarms.filter(({ id }) => id.includes("long")).map(({ id }) => id)).toEqual([
      "long-dead-letters",
      "long-oldest-message",
    ]);
    const [process, ...others] = made.processes;
    expect(others).toEqual([]);
    expect(process?.environment).toEqual({
      DATABASE_DRIVER: "pg",
      DATABASE_URL: "${database.application.url}",
      DATABASE_AUTH: "iam",
      GHOULS_SCHEMA: "ghouls",
      GHOULS_QUEUE_LONG_URL: "${queue.long.url}",
      EVENTS_TABLE: "${table.name}",
      GHOULS_RELEASES: "s3://${releases.bucket.name}/releases",
      GHOULS_EGRESS_FUNCTION: "${function.egress.arn}",
      GHOULS_PUBLIC_URL: "${http.url}",
      GHOULS_DEPLOYMENT: "${deployment}",
    });
    expect(process?.statements.map(({ sid }) => sid)).toEqual([
      "Connect",
      "Consume",
      "Publish",
      "SayEvents",
      "ReadReleases",
      "MissReleases",
      "WakeHint",
      "AskServices",
    ]);
    // Others send to it as to any queue.
    const reconciler = made.functions.find(({ id }) => id === "reconciler");
    expect(reconciler?.environment).toMatchObject({
      GHOULS_QUEUE_LONG_URL: "${queue.long.url}",
      GHOULS_DEAD_LETTERS_LONG_URL: "${queue.long.deadLetter.url}",
    });
    expect(plan().processes).toEqual([]);
  });

  it("names only what its own resources are called, and what is given", () => {
    const whole = plan({ vpc: {}, database: { ownKey: true } }, SERVICES);
    const made = new Set([
      "build",
      "deployment",
      "table.arn",
      "table.name",
      "releases.bucket.arn",
      "releases.bucket.name",
      "http.id",
      "http.url",
      "function.stream.url",
      "vpc.subnets",
      "vpc.securityGroups",
      "database.application.secret.arn",
      "database.migrator.secret.arn",
      "database.key.arn",
      ...whole.functions.flatMap(({ id }) =>
        ["arn", "name", "log.arn"].map((part) => `function.${id}.${part}`),
      ),
      ...whole.queues.flatMap(({ name }) =>
        ["arn", "url", "name", "deadLetter.arn", "deadLetter.url", "deadLetter.name"].map(
          (part) => `queue.${name}.${part}`,
        ),
      ),
    ]);
    expect(referencesIn(JSON.stringify(whole)).filter((name) => !made.has(name))).toEqual([]);
  });

  it("sends every route of the API to the function that has it, and what is none to a problem document", () => {
    const { routes } = plan().http;
    expect(routes).toMatchObject({
      "POST /v1/runs": "admission",
      "POST /v1/runs/{id}/cancel": "admission",
      "GET /v1/runs/{id}": "api",
      "GET /readyz": "api",
      "GET /openapi.json": "api",
      $default: "api",
    });
    expect(
      Object.entries(routes).filter(([route, id]) => route.startsWith("POST") && id !== "admission"),
    ).toEqual([]);
  });

  it("switches code only after the preflight, and that only after the migration", () => {
    const { deploy, functions } = plan();
    expect(deploy).toEqual(["migrate", "preflight", "switch"]);
    expect(functions.filter((one) => !one.afterPreflight).map(({ id }) => id)).toEqual([
      "migrate",
      "preflight",
    ]);
  });

  it("invokes the reconciler every minute, and ends it before the next", () => {
    expect(plan().schedule).toEqual({ function: "reconciler", expression: "rate(1 minute)", retries: 0 });
    expect(functionOf("reconciler").timeoutSeconds).toBeLessThan(60);
  });

  it("has alarms for every queue, every function, and for silence", () => {
    const { alarms, functions, queues: planned } = plan();
    const ids = alarms.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { name } of planned)
      expect(ids).toEqual(expect.arrayContaining([`${name}-dead-letters`, `${name}-oldest-message`]));
    for (const { id } of functions) expect(ids).toContain(`${id}-errors`);
    expect(alarms.find(({ id }) => id === "reconciler-silent")).toMatchObject({
      missing: "breaching",
      threshold: 1,
    });
  });
});

describe("what a function may do", () => {
  it("is no more than its part", () => {
    expect(Object.keys(may("admission"))).toEqual([
      "WriteLog",
      "ReadSecret",
      "Publish",
      "SayEvents",
      "WakeHint",
    ]);
    for (const id of ["api", "stream"])
      expect(Object.keys(may(id))).toEqual(["WriteLog", "ReadSecret", "FollowEvents"]);
    expect(may("stream")["FollowEvents"]).toMatchObject({
      actions: ["dynamodb:Query"],
      conditions: [{ variable: "dynamodb:LeadingKeys", values: ["run#*"] }],
    });
    expect(
      plan()
        .functions.filter(({ streams }) => streams)
        .map(({ id }) => id),
    ).toEqual(["stream"]);
    expect(may("worker-runs")).toMatchObject({
      Consume: { resources: ["${queue.runs.arn}"] },
      Publish: { resources: ["${queue.runs.arn}"] },
      WakeHint: { actions: ["dynamodb:UpdateItem"] },
    });
    expect(may("reconciler")).toMatchObject({
      Publish: { resources: ["${queue.runs.arn}", "${queue.rites.arn}"] },
      WakeHint: { actions: ["dynamodb:GetItem", "dynamodb:UpdateItem"] },
    });
    expect(may("migrate")["ReadSecret"]?.resources).toEqual(["${database.migrator.secret.arn}"]);
    expect(may("preflight")["ReadSecret"]?.resources).toEqual(["${database.application.secret.arn}"]);
  });

  it("names no action and no resource by a star", () => {
    const statements = plan({ database: { ownKey: true } }).functions.flatMap((one) => one.statements);
    expect(statements.flatMap(({ actions }) => actions).filter((action) => action.includes("*"))).toEqual([]);
    // A log group's streams are named this way, and the bundles of releases, whose names are not known before.
    expect(
      statements
        .flatMap(({ resources }) => resources)
        .filter((one) => one.replace(/(?:\.log\.arn}:|\.bucket\.arn}\/releases\/)\*$/, "").includes("*")),
    ).toEqual([]);
  });

  it("enters a VPC only where there is one, which is the one star that is argued for", () => {
    expect(may("api")).not.toHaveProperty("EnterVpc");
    const stars = plan({ vpc: {} }).functions.flatMap(({ statements }) =>
      statements.filter(({ resources }) => resources.includes("*")).map(({ sid }) => sid),
    );
    expect(new Set(stars)).toEqual(new Set(["EnterVpc"]));
  });

  it("trusts the certificates of RDS, which Lambda has and Node does not load there", () => {
    for (const { environment } of plan().functions)
      expect(environment).toMatchObject({ NODE_EXTRA_CA_CERTS: "/var/runtime/ca-cert.pem" });
  });

  it("reaches the table only where the hint is on", () => {
    const off = { reconciler: { hint: false } };
    for (const id of ["admission", "worker-runs", "reconciler"]) {
      expect(functionOf(id).environment).toHaveProperty("EVENTS_TABLE");
      expect(may(id, {}, off)).not.toHaveProperty("WakeHint");
    }
  });

  it("connects with RDS tokens instead of a secret where that is chosen", () => {
    const iam = { database: { auth: "iam" } } as const;
    expect(may("worker-runs", iam)).toMatchObject({
      Connect: { actions: ["rds-db:connect"], resources: ["${database.application.user.arn}"] },
    });
    expect(may("worker-runs", iam)).not.toHaveProperty("ReadSecret");
    expect(functionOf("worker-runs", iam).environment).toMatchObject({
      DATABASE_URL: "${database.application.url}",
      DATABASE_AUTH: "iam",
    });
    expect(functionOf("migrate", iam).environment).toMatchObject({
      GHOULS_MIGRATION_DATABASE_URL: "${database.migrator.url}",
      GHOULS_APPLICATION_ROLE: "ghouls_app",
    });
  });
});

describe("services", () => {
  const withServices = plan({ vpc: {} }, SERVICES);
  const ids = withServices.functions.map(({ id }) => id);

  it("are asked by a function of their own, which is planned only where there are some", () => {
    expect(ids).toContain("egress");
    expect(JSON.stringify(plan({ vpc: {} }))).not.toMatch(/egress|PUBLIC_URL|AskServices|"lambda"/);
  });

  it("are asked by a function that has its log, and no way to the database, the queues, the table or the VPC", () => {
    const egress = functionOf("egress", { vpc: {} }, SERVICES);
    expect(egress.statements).toEqual([
      {
        sid: "WriteLog",
        actions: ["logs:CreateLogStream", "logs:PutLogEvents"],
        resources: ["${function.egress.log.arn}:*"],
      },
    ]);
    expect(egress.environment).toEqual({ GHOULS_BUILD: "${build}" });
    expect(egress).toMatchObject({
      connects: false,
      timeoutSeconds: 30,
      memoryMb: 256,
      afterPreflight: true,
    });
    expect(withServices.functions.filter((one) => !one.connects)).toEqual([egress]);
  });

  describe("that name what asking them needs", () => {
    const machine = "arn:aws:states:us-east-1:123456789012:stateMachine:dig";
    const needs = (...permissions: { actions: string[]; resources: string[] }[]) => ({
      services: { signer: { times: { timeoutMs: 5_000 }, permissions } },
    });
    const starts = { actions: ["states:StartExecution"], resources: [machine] };

    it("are asked by a function that may do that, once each, and by no other", () => {
      const { signer } = needs(starts, {
        actions: ["states:StopExecution"],
        resources: [`${machine}:x-*`],
      }).services;
      const services = { services: { signer, other: signer } };
      expect(functionOf("egress", {}, services).statements.slice(1)).toEqual([
        { sid: "AskService1", ...starts },
        { sid: "AskService2", actions: ["states:StopExecution"], resources: [`${machine}:x-*`] },
      ]);
      const all = JSON.stringify(plan({}, services).functions.filter(({ id }) => id !== "egress"));
      expect(all).not.toContain("states:");
    });

    it.each<[string, string[], string[]]>([
      ["every action", ["states:*"], [machine]],
      ["any action", ["*"], [machine]],
      ["any resource", ["states:StartExecution"], ["*"]],
      ["any account", ["states:StartExecution"], [machine.replace("123456789012", "*")]],
      ["any beginning", ["states:StartExecution"], [machine.replace("dig", "*dig")]],
      ["all of a service", ["states:StartExecution"], ["arn:aws:states:us-east-1:123456789012:*"]],
      ["what only a deployment knows", ["sqs:SendMessage"], ["${queue.runs.arn}"]],
      ["what is not set", ["states:StartExecution"], ["undefined"]],
      ["nothing", [], [machine]],
      ["nowhere", ["states:StartExecution"], []],
    ])("are refused where they name %s", (_what, actions, resources) => {
      const error = refused(() => plan({}, needs({ actions, resources })));
      expect(error).toMatchObject({
        code: "configuration_invalid",
        fix: expect.stringContaining("whole ARN") as string,
      });
      expect(error.message).toContain('"signer"');
    });
  });

  it("are asked by workers and the reconciler alone, who also tell them where the API is", () => {
    const asking = withServices.functions.filter(({ statements }) =>
      statements.some(({ actions }) => actions.includes("lambda:InvokeFunction")),
    );
    expect(asking.map(({ id }) => id)).toEqual(["worker-runs", "worker-rites", "reconciler"]);
    for (const { environment, statements } of asking) {
      expect(environment).toMatchObject({
        GHOULS_EGRESS_FUNCTION: "${function.egress.arn}",
        GHOULS_PUBLIC_URL: "${http.url}",
      });
      expect(statements.find(({ sid }) => sid === "AskServices")).toEqual({
        sid: "AskServices",
        actions: ["lambda:InvokeFunction"],
        resources: ["${function.egress.arn}"],
      });
    }
    const others = withServices.functions.filter((one) => !asking.includes(one));
    for (const { environment } of others)
      expect(Object.keys(environment)).not.toEqual(expect.arrayContaining(["GHOULS_EGRESS_FUNCTION"]));
  });

  it("are asked by code that is switched before the code that asks for it", () => {
    expect(ids.indexOf("egress")).toBeLessThan(ids.indexOf("worker-runs"));
  });

  it("that take long are not cut off by the function's end", () => {
    const slow = { services: { signer: { times: { timeoutMs: 59_001 } } } };
    expect(functionOf("egress", {}, slow).timeoutSeconds).toBe(65);
  });

  it("hold no connection, whatever is reserved for them; the reservation is the account's all the same", () => {
    const limits = { concurrency: { account: 10 }, database: { maxConnections: 40 } };
    expect(plan(limits, SERVICES).connections).toEqual(plan(limits).connections);
    const reserved = { admission: 4, api: 4, stream: 4 };
    const without = plan({ concurrency: { account: 1_000, reserved } });
    const egress = { ...reserved, egress: 50 };
    expect(plan({ concurrency: { account: 1_000, reserved: egress } }, SERVICES).connections).toEqual(
      without.connections,
    );
    expect(
      refused(() => plan({ concurrency: { account: 120, reserved: { egress: 21 } } }, SERVICES)).fix,
    ).toMatch(/^Reserve 20 at most/);
  });

  it("have alarms and a place on the dashboard", () => {
    expect(withServices.alarms.map(({ id }) => id)).toEqual(
      expect.arrayContaining(["egress-errors", "egress-throttles"]),
    );
    expect(JSON.stringify(withServices.dashboard)).toContain("${function.egress.name}");
  });
});

describe("connections", () => {
  it("are those of every environment that the account has, twice while code is switched", () => {
    expect(plan().connections).toEqual({
      perEnvironment: 2,
      environments: 10,
      whileDeploying: 20,
      worst: 40,
      limit: 90,
    });
  });

  it("of the HTTP functions end at their reservations", () => {
    const reserved = { admission: 4, api: 4, stream: 4 };
    const { connections } = plan({ concurrency: { account: 1_000, reserved } });
    // 4 + 4 + 4, two workers of 2 each, two reconcilers, one migration, one preflight.
    expect(connections).toMatchObject({ environments: 20, worst: 80 });
  });

  it("that would not fit refuse the deployment before anything is made", () => {
    const error = refused(() => plan({ concurrency: { account: 1_000 } }));
    expect(error).toMatchObject({ code: "configuration_invalid" });
    expect(error.message).toContain("4000 connections");
    expect(error.fix).toMatch(/reserve executions for admission, api and stream/);
    expect(() =>
      plan({ concurrency: { account: 1_000 }, database: { maxConnections: 4_000 } }),
    ).not.toThrow();
  });

  it("of an account that is small are not reserved: Lambda keeps 100 executions for all others", () => {
    const reserving = (account: number, admission: number) => () =>
      plan({ concurrency: { account, reserved: { admission } }, database: { maxConnections: 4_000 } });
    expect(refused(reserving(10, 1))).toMatchObject({
      message: expect.stringContaining("Lambda keeps 100 unreserved"),
      fix: expect.stringMatching(/^Reserve nothing/),
    });
    expect(refused(reserving(120, 21)).fix).toMatch(/^Reserve 20 at most/);
    expect(reserving(120, 20)).not.toThrow();
  });

  it("are not said to shrink by reservations that the account cannot make", () => {
    const of = (account: number) =>
      refused(() => plan({ concurrency: { account }, database: { maxConnections: 1 } })).fix;
    expect(of(100)).not.toContain("reserve");
    expect(of(101)).toContain("reserve executions");
  });
});

test.each([
  [
    "a queue whose worker would outlive Lambda",
    () => plan({}, { queues: queues({ runs: { functionTimeout: "16m" } }) }),
    /15m/,
  ],
  ["a queue with one worker", () => plan({}, { queues: queues({ runs: { concurrency: 1 } }) }), /2 at least/],
  [
    "a queue that is called like another but for its dashes",
    () => plan({}, { queues: queues({ a1: {}, "a-1": {} }) }),
    /Rename one/,
  ],
  [
    "a pool that no function needs",
    () => plan({}, { database: { schema: "ghouls", poolSize: 3 } }),
    /database\.poolSize to 2/,
  ],
  ["a reservation for nobody", () => plan({ concurrency: { reserved: { worker: 1 } } }), /worker-runs/],
  ["days that CloudWatch does not take", () => plan({ logDays: 2 } as never), /logDays: one of 1, 3, 5, 7/],
  ["an option that does not exist", () => plan({ vpcs: {} } as never), /vpcs/],
])("%s is refused, with what to do", (_what, make, fix) => {
  expect(refused(make)).toMatchObject({ code: "configuration_invalid", fix: expect.stringMatching(fix) });
});

test("endpoints are those that the functions need, and none where there is a way out", () => {
  const services = (options: PlanOptionsInput) =>
    plan(options).network?.endpoints.map(({ service }) => service);
  expect(services({})).toBeUndefined();
  expect(services({ vpc: {} })).toEqual(["sqs", "dynamodb", "s3", "secretsmanager"]);
  expect(services({ vpc: {}, database: { auth: "iam" } })).toEqual(["sqs", "dynamodb", "s3"]);
  expect(services({ vpc: { endpoints: false } })).toEqual([]);
  const { network } = plan({ vpc: {} }, SERVICES);
  expect(network?.endpoints).toContainEqual({ service: "lambda", type: "Interface" });
});
