import { spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * `npm run test:fuzz`: asks every route of the OpenAPI document for what its schemas allow, and for what they do not, of a real
 * API over a real ledger, with Schemathesis: no answer may be a 5xx but those that are documented, and none may be another one
 * than the document says. It needs python3; the tool is installed once, beside the packages.
 */

const root = fileURLToPath(new URL("../..", import.meta.url));
const cache = join(root, "node_modules/.cache/ghouls-fuzz");
const tool = join(cache, "bin/schemathesis");
const VERSION = "4.32.5";
/** What is held. Whether a valid body is accepted, the ledger decides, and not the document. */
const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "unsupported_method",
  "ignored_auth",
].join(",");
const SECONDS = 90;

function install(): void {
  if (existsSync(tool)) return;
  const made = spawnSync("python3", ["-m", "venv", cache], { encoding: "utf8" });
  if (made.status !== 0) throw new Error(`python3 with venv is needed: ${made.stderr || String(made.error)}`);
  const pip = join(cache, "bin/pip");
  const got = spawnSync(pip, ["install", "--quiet", `schemathesis==${VERSION}`], { encoding: "utf8" });
  if (got.status !== 0) throw new Error(`schemathesis cannot be installed: ${got.stderr}`);
}

interface Dev {
  readonly apiUrl: string;
  readonly tokens: { readonly operator: string; readonly decider: string };
}

/** The whole of it on this machine, in a folder of its own. */
async function startDev(dataDir: string): Promise<{ dev: Dev; stop: () => Promise<void> }> {
  const bin = join(root, "packages/ghouls/bin/ghouls.mjs");
  const args = ["dev", "--config", "packages/workflows/ghouls.config.ts", "--data-dir", dataDir];
  const child = spawn(process.execPath, [bin, ...args, "--port", "0", "--json"], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const up = new Promise<void>((resolve, reject) => {
    child.stdout.once("data", () => resolve());
    child.once("exit", (code) => reject(new Error(`ghouls dev ended with ${code}`)));
  });
  await up;
  const dev = JSON.parse(readFileSync(join(dataDir, "dev.json"), "utf8")) as Dev;
  return {
    dev,
    stop: async () => {
      child.kill("SIGINT");
      await ended;
    },
  };
}

/** Runs whose routes are asked for by ids that are there: one that has ended, and one that waits for somebody. */
async function inhabit({ apiUrl, tokens }: Dev): Promise<{ runId: string; consentId: string }> {
  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${apiUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${tokens.operator}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await response.json()) as { runId: string; consents: { consentId: string }[] };
  };
  const { runId } = await ask("POST", "/v1/runs", {
    workflow: "agent",
    agent: "cashier",
    input: { goal: "Refund order 1002, it is broken" },
    labels: { team: "payments" },
  });
  for (;;) {
    const { consents } = await ask("GET", `/v1/consents?runId=${runId}`);
    const [consent] = consents;
    if (consent !== undefined) return { runId, consentId: consent.consentId };
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function main(): Promise<number> {
  install();
  const folder = mkdtempSync(join(tmpdir(), "ghouls-fuzz-"));
  // As root, PostgreSQL runs as another user, who must be able to pass through.
  chmodSync(folder, 0o755);
  const { dev, stop } = await startDev(join(folder, "state"));
  try {
    const { runId, consentId } = await inhabit(dev);
    const config = join(folder, "schemathesis.toml");
    writeFileSync(
      config,
      [
        ["/v1/runs/\\\\{id\\\\}", runId],
        ["/v1/consents/\\\\{id\\\\}", consentId],
      ]
        .map(
          ([path, id]) =>
            `[[operations]]\ninclude-path-regex = "^${path}"\nparameters = { "path.id" = "${id}" }\n`,
        )
        .join("\n"),
    );
    for (const [who, token] of Object.entries(dev.tokens)) {
      if (who === "submitter") continue;
      process.stdout.write(`as the ${who}\n`);
      const run = spawn(
        tool,
        [
          "--config-file",
          config,
          "run",
          `${dev.apiUrl}/openapi.json`,
          `--url=${dev.apiUrl}`,
          `--header=Authorization: Bearer ${token}`,
          `--checks=${CHECKS}`,
          "--phases=examples,fuzzing",
          "--max-examples=40",
          `--max-time=${SECONDS}`,
          "--workers=2",
          "--continue-on-failure",
          "--request-timeout=40",
          "--warnings=off",
          "--suppress-health-check=filter_too_much",
        ],
        { cwd: folder, stdio: "inherit" },
      );
      const code = await new Promise<number>((resolve) => run.once("exit", (status) => resolve(status ?? 1)));
      if (code !== 0) return code;
    }
    return 0;
  } finally {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main();
