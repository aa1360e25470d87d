import { randomUUID } from "node:crypto";
import type { Browser } from "playwright-core";
import pg from "pg";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { devProject, type DevProject } from "../support/dev-project.ts";
import { openChromium } from "../support/console/chromium.ts";
import { openTab, type Tab } from "../support/console/tab.ts";
import { PROJECT } from "../support/console/workflows.ts";

// Real processes and a real browser on a machine that may be busy.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });
const PATIENT = { timeout: 60_000 };
const RUNS = 100_000;
const STEPS = 5_000;

let browser: Browser;
let project: DevProject;
const long = randomUUID();

/** A hundred thousand runs that have ended, and the newest of them with five thousand steps. */
async function seed(): Promise<void> {
  const { migrationUrl } = await project.state();
  const client = new pg.Client({ connectionString: migrationUrl });
  await client.connect();
  await client.query(
    `with made as (select case when n = 1 then $2::uuid else gen_random_uuid() end as id, n from generate_series(1, $1::integer) as n), run as (
       insert into ghouls.runs (tenant_id, run_id, first_run_id, request_digest, workflow_name, workflow_version, workflow_digest, queue, priority,
         requested_by, requested_roles, status, enqueue_seq, input_text, input_digest, created_at, started_at, finished_at, journal_length)
       select 'default', made.id, made.id, 'r', case when made.n % 100 = 0 then 'rare' else 'hello' end, 1, 'd', 'runs', 5, 'user:ada', '{}',
         case when made.n % 50 = 0 then 'CANCELLED' else 'DONE' end, 1, '1', 'd', ghouls.clock() - made.n * interval '1 second',
         ghouls.clock(), ghouls.clock(), case when made.n = 1 then $3::integer else 1 end
       from made returning tenant_id, run_id
     ), delivery as (
       insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, outcome, queue, priority, due_at, token, claimed_by, claimed_at,
         lease_until, created_at, settled_at)
       select tenant_id, run_id, 1, 'admitted', 'SETTLED', 'done', 'runs', 5, ghouls.clock(), gen_random_uuid(), 'worker-0', ghouls.clock(),
         ghouls.clock(), ghouls.clock(), ghouls.clock() + interval '1 minute'
       from run returning tenant_id, run_id, seq, token
     )
     insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, tries, seq, token, started_at, completed_at)
     select d.tenant_id, d.run_id, s, 0, '', 'step', 'step ' || s, 1, 'ok', 1, d.seq, d.token, ghouls.clock() + s * interval '10 ms',
       ghouls.clock() + s * interval '10 ms'
     from delivery d cross join lateral generate_series(1, case when d.run_id = $2::uuid then $3::integer else 1 end) as s`,
    [RUNS, long, STEPS],
  );
  await client.query("analyze ghouls.runs, ghouls.deliveries, ghouls.journal");
  await client.end();
}

beforeAll(async () => {
  [browser, project] = await Promise.all([openChromium(), devProject(PROJECT)]);
  await project.start();
  await seed();
});
afterAll(async () => {
  await browser?.close();
  await project?.remove();
});

/** Scrolls down frame by frame and tells how long each took, in milliseconds. */
const SCROLL = `(async () => {
  const frames = [];
  let last = performance.now();
  for (let count = 0; count < 240; count += 1) {
    scrollBy(0, 900);
    await new Promise((resolve) => requestAnimationFrame(resolve));
    const now = performance.now();
    frames.push(now - last);
    last = now;
  }
  return { frames, y: scrollY };
})()`;

async function scrolled(tab: Tab): Promise<{ median: number; slow: number; y: number }> {
  const { frames, y } = await tab.page.evaluate<{ frames: number[]; y: number }>(SCROLL);
  const sorted = frames.toSorted((one, other) => one - other);
  return { median: sorted[120] ?? Number.NaN, slow: frames.filter((ms) => ms > 100).length, y };
}

test("a hundred thousand runs stay fluid: the list is there at once, and scrolls through thousands", async () => {
  const tab = await openTab(browser, project, "/runs");
  await tab.page.locator(".run-row").first().waitFor(PATIENT);
  const began = performance.now();
  await tab.page.reload();
  await tab.page.locator(".run-row").first().waitFor(PATIENT);
  const firstMs = performance.now() - began;
  let y = 0;
  let worst = { median: 0, slow: 0 };
  // Page upon page comes as one goes down.
  while (y < 150_000) {
    const result = await scrolled(tab);
    worst = { median: Math.max(worst.median, result.median), slow: Math.max(worst.slow, result.slow) };
    y = result.y;
  }
  // Only what is in view is in the page.
  expect(await tab.page.locator(".run-row").count()).toBeLessThan(80);
  const filtering = performance.now();
  await tab.page.getByLabel("Workflow").selectOption("fails");
  await tab.page.getByText("No run is like that").waitFor(PATIENT);
  const filterMs = performance.now() - filtering;
  process.stdout.write(
    `100,000 runs: first rows ${Math.round(firstMs)} ms, frame ${worst.median.toFixed(1)} ms (median), ${worst.slow} of 240 over 100 ms, filter ${Math.round(filterMs)} ms\n`,
  );
  expect(firstMs).toBeLessThan(10_000);
  expect(worst.median).toBeLessThan(200);
  await tab.close();
});

test("five thousand steps in a run stay fluid", async () => {
  const tab = await openTab(browser, project, `/runs/${long}`);
  await tab.page.getByText("step 3", { exact: true }).waitFor(PATIENT);
  const began = performance.now();
  await tab.page.reload();
  await tab.page.getByText("step 3", { exact: true }).waitFor(PATIENT);
  const firstMs = performance.now() - began;
  const { median, slow, y } = await scrolled(tab);
  expect(y).toBeGreaterThan(100_000);
  expect(await tab.page.locator(".timeline li").count()).toBeLessThan(120);
  process.stdout.write(
    `5,000 steps: first rows ${Math.round(firstMs)} ms, frame ${median.toFixed(1)} ms (median), ${slow} of 240 over 100 ms\n`,
  );
  expect(firstMs).toBeLessThan(15_000);
  expect(median).toBeLessThan(200);
  await tab.close();
});
