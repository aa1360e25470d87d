/** A project whose runs stand still until a test says so, by files whose paths their inputs name. */

export const HOSTILE = [
  `<img src=x onerror="document.title='pwned'">`,
  `"><script>document.title='pwned'</script>`,
  "javascript:document.title='pwned'",
  "pay \u202E001\u202C to \u200Bme",
  "line\u2028break\u0007bell",
  "{{constructor.constructor('return 1')()}} ${7*7}",
  "👩‍👩‍👧 Ärger 日本",
] as const;

const CONFIG = `import { defineConfig } from "ghouls";
import { asks, fails, holds, signs, story, wild } from "./workflows.ts";
import { signer } from "./signer.ts";
export default defineConfig({
  workflows: [asks, fails, holds, signs, story, wild], services: { signer }, queues: { runs: { batchSize: 1 } },
  timing: { lease: "3s", beat: "1s", actsMargin: "1s" },
});
`;

/** Says that it runs a job, and then nothing more: its heartbeat lapses, and nobody knows of it. */
const SIGNER = `import * as z from "zod";
const silent = () => Promise.reject(new Error("the signing service is <b>silent</b>"));
export const signer = {
  adapter: "silent", version: "1", identity: "here", request: z.object({ digest: z.string() }), result: z.object({ signature: z.string() }),
  traits: { lookup: "advisory", submit: "once", cancel: "advisory", delaySeconds: 1 },
  times: { timeoutMs: 1000, pollMs: 1000, heartbeatMs: 1000 },
  submit: () => Promise.resolve({ state: "running" }), lookUp: silent, cancel: silent,
};
`;

const WORKFLOWS = `import { existsSync } from "node:fs";
import { workflow } from "ghouls";
import * as z from "zod";
import { signer } from "./signer.ts";

const told = async (gate: string, each: (count: number) => void = () => undefined) => {
  for (let count = 0; ; count += 1) {
    if (existsSync(gate)) return count;
    each(count);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

export const story = workflow({
  name: "story", version: 1, onWorkerLoss: "resume", input: z.object({ gate: z.string() }),
  run: (ctx, { gate }) => ctx.step("tell", async () => {
    const words = await told(gate, (count) => ctx.stream("answer", "word-" + count + " "));
    ctx.emit("told", { words });
    return { words };
  }),
});

export const holds = workflow({
  name: "holds", version: 1, onWorkerLoss: "resume", input: z.object({ gate: z.string() }),
  run: async (ctx, { gate }) => {
    await ctx.step("prepare", () => Promise.resolve("ready"));
    return ctx.step("hold on", () => told(gate), { timeout: "10m" });
  },
});

export const asks = workflow({
  name: "asks", version: 1, onWorkerLoss: "resume", input: z.object({ title: z.string(), detail: z.unknown(), quorum: z.number().default(1) }),
  run: async (ctx, { title, detail, quorum }) => {
    const { outcome } = await ctx.consent(title, { deciders: ["role:decider"], expires: "3d", detail, quorum });
    return { outcome };
  },
});

export const signs = workflow({
  name: "signs", version: 1, onWorkerLoss: "resume", input: z.object({ digest: z.string() }),
  run: async (ctx, { digest }) => {
    const signed = await ctx.delegate("sign", signer, { digest });
    return signed.outcome === "SUCCEEDED" ? signed.result : { outcome: signed.outcome };
  },
});

export const fails = workflow({
  name: "fails", version: 1, onWorkerLoss: "resume", input: z.object({ message: z.string() }),
  run: (ctx, { message }) => ctx.step("break", () => Promise.reject(new Error(message)), { tries: 1 }),
});

/** Says what it was given wherever a run can say something. */
export const wild = workflow({
  name: "wild", version: 1, onWorkerLoss: "resume", input: z.object({ texts: z.array(z.string()) }),
  run: async (ctx, { texts }) => {
    for (const text of texts) {
      await ctx.step(text.slice(0, 60), () => {
        ctx.stream("answer", text);
        ctx.emit("told", { [text]: text, "__proto__": text });
        return Promise.resolve(text);
      });
    }
    return Object.fromEntries(texts.map((text) => [text, text]));
  },
});
`;

export const PROJECT = {
  "ghouls.config.ts": CONFIG,
  "workflows.ts": WORKFLOWS,
  "signer.ts": SIGNER,
} as const;
