import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { wire } from "@ghouls/core";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { devProject, type DevProject } from "../support/dev-project.ts";
import { openChromium } from "../support/console/chromium.ts";
import { openTab } from "../support/console/tab.ts";

// Real processes and a real browser on a machine that may be busy.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });
const PATIENT = { timeout: 60_000 };
const MOST_BYTES = 60_000;

/** Where the pictures of the console's README go: `GHOULS_PICTURES=packages/console/pictures npm test -- pictures`. */
const FOLDER = process.env["GHOULS_PICTURES"];

const PROJECT = {
  "ghouls.config.ts": `import { defineConfig } from "ghouls";
import { payout, refund, report, signer } from "./workflows.ts";
export default defineConfig({ workflows: [refund, payout, report], services: { signer }, queues: { runs: { batchSize: 1 } } });
`,
  "workflows.ts": `import { workflow } from "ghouls";
import * as z from "zod";
const silent = () => Promise.reject(new Error("connection reset by peer"));
export const signer = {
  adapter: "http", version: "1", identity: "signer", request: z.object({ document: z.string(), cents: z.number() }), result: z.object({ signature: z.string() }),
  traits: { lookup: "advisory", submit: "once", cancel: "advisory", delaySeconds: 1 },
  times: { timeoutMs: 1000, pollMs: 1000, heartbeatMs: 1000 },
  submit: () => Promise.resolve({ state: "running" }), lookUp: silent, cancel: silent,
};
const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const ANSWER = "Order 17 was delivered twelve days late. The policy allows a refund of the shipping cost up to 14 days after delivery; anything above 50 EUR needs a person's consent. I propose to refund 64.90 EUR and to apologise. ";
export const refund = workflow({
  name: "refund-agent", version: 3, onWorkerLoss: "resume", input: z.object({ order: z.number() }),
  run: async (ctx, { order }) => {
    const found = await ctx.step("read the order", async () => { await rest(60); return { order, cents: 6490, late: "12 days" }; });
    await ctx.step("read the policy", async () => { await rest(140); return "shipping.md"; }, { tries: 3 });
    await ctx.step("ask the model", async () => {
      for (const word of ANSWER.split(" ")) { ctx.stream("answer", word + " "); await rest(4); }
      ctx.emit("usage", { model: "large", tokens: 61 });
      return ANSWER;
    });
    const consent = await ctx.consent("Refund 64.90 EUR for order 17", { deciders: ["role:decider"], expires: "3d", detail: { ...found, to: "Ada L.", reason: "delivered 12 days late", policy: "shipping.md, section 4" } });
    if (consent.outcome !== "GRANTED") return { refunded: false };
    const signed = await ctx.delegate("sign the refund", signer, { document: "refund-17.pdf", cents: found.cents });
    return { refunded: signed.outcome === "SUCCEEDED" };
  },
});
export const payout = workflow({
  name: "payout", version: 1, onWorkerLoss: "fail", input: z.object({ to: z.string(), cents: z.number() }),
  run: (ctx, { to, cents }) => ctx.step("pay " + to, async () => {
    await rest(30);
    if (cents > 100000) throw new Error("the payment of " + cents + " cents is above the limit of 100000");
    return { paid: cents };
  }, { tries: 1 }),
});
export const report = workflow({
  name: "nightly-report", version: 1, onWorkerLoss: "resume", input: z.object({}),
  run: async (ctx) => { for (let n = 1; n <= 6; n += 1) await ctx.step("region " + n, () => rest(20 * n)); return { regions: 6 }; },
});
`,
} as const;

let browser: Browser;
let project: DevProject;
beforeAll(async () => {
  if (FOLDER === undefined) return;
  [browser, project] = await Promise.all([openChromium(), devProject(PROJECT)]);
  await project.start();
});
afterAll(async () => {
  await browser?.close();
  await project?.remove();
});

test.runIf(FOLDER !== undefined)(
  "the pictures of the README are taken anew, each of them small",
  async () => {
    const folder = FOLDER ?? "";
    await mkdir(folder, { recursive: true });
    const label = (labels: Record<string, string>, workflow: string, input: unknown) =>
      project.ghouls(
        "submit",
        workflow,
        "--input",
        JSON.stringify(input),
        ...Object.entries(labels).flatMap(([key, value]) => ["--label", `${key}=${value}`]),
      );
    for (let count = 0; count < 5; count += 1) await label({ team: "finance" }, "nightly-report", {});
    await label({ team: "payments" }, "payout", { to: "ada", cents: 1_290 });
    await label({ team: "payments" }, "payout", { to: "bob", cents: 990_000 });
    const signing = (await label({ team: "support", order: "16" }, "refund-agent", { order: 16 })).out;
    await project.until(signing, "AWAITING_CONSENT");
    await project.decide(signing, "grant");
    await project.until(signing, "AWAITING_DELEGATE");
    const asking = (await label({ team: "support", order: "17" }, "refund-agent", { order: 17 })).out;
    await project.until(asking, "AWAITING_CONSENT");
    const { consents } = await project.get<wire.ConsentPage>(`/v1/consents?runId=${asking}`);
    const attempts = () => project.get<wire.AttemptPage>(`/v1/attempts?runId=${signing}`);
    await expect.poll(async () => (await attempts()).attempts[0]?.status, PATIENT).toBe("UNCERTAIN");
    const [attempt] = (await attempts()).attempts;
    const wide = { width: 960, height: 620 };
    const phone = { width: 390, height: 780 };
    const pictures = [
      ["runs", "/runs", "operator", wide, "nightly-report"],
      ["run", `/runs/${signing}`, "operator", wide, "Hop 1"],
      ["live", `/runs/${asking}?tab=live`, "operator", wide, "usage"],
      ["evidence", `/runs/${asking}?tab=evidence`, "operator", wide, "Copies of its steps"],
      ["consents", "/consents", "decider", wide, "Refund 64.90"],
      ["consent", `/consents/${consents[0]?.consentId}`, "decider", phone, "Grant"],
      ["jobs", "/attempts", "operator", wide, "sign the refund"],
      ["job", `/attempts/${attempt?.attemptId}`, "operator", wide, "Nobody knows"],
      ["reconciler", "/reconciler", "operator", wide, "Newest repairs"],
      ["workflows", "/workflows", "operator", wide, "Schemas"],
    ] as const;
    for (const theme of ["light", "dark"] as const) {
      for (const [name, path, as, viewport, seen] of pictures) {
        const tab = await openTab(browser, project, path, { as, theme, viewport });
        await tab.page
          .getByText(seen)
          .first()
          .waitFor({ ...PATIENT, state: "attached" });
        await tab.page.waitForLoadState("load");
        await expect.poll(() => tab.page.locator(".me-name").count(), PATIENT).toBe(1);
        const file = join(folder, `${name}-${theme}.jpg`);
        await tab.page.screenshot({ path: file, type: "jpeg", quality: 62 });
        expect((await stat(file)).size, file).toBeLessThan(MOST_BYTES);
        await tab.close();
      }
    }
  },
);
