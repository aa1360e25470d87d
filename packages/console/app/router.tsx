import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from "@tanstack/react-router";
import { NotFound, PageBroken } from "./shell/broken.tsx";
import { Frame } from "./shell/frame.tsx";
import { attemptSearch } from "./attempts/search.ts";
import { consentSearch } from "./consents/search.ts";
import { runPageSearch } from "./run/search.ts";
import { runSearch } from "./runs/search.ts";
import { RunsPage } from "./runs/page.tsx";

/** Every page has an address that can be shared; what a page filters by stands in it. Pages other than the first are loaded when they are opened. */
const root = createRootRoute({ component: Frame, notFoundComponent: NotFound });
const at = <Path extends string>(path: Path) => ({ getParentRoute: () => root, path });

const home = createRoute({
  ...at("/"),
  beforeLoad: () => {
    throw redirect({ to: "/runs", replace: true });
  },
});
const runs = createRoute({ ...at("/runs"), component: RunsPage, validateSearch: runSearch });
const run = createRoute({
  ...at("/runs/$runId"),
  component: lazyRouteComponent(() => import("./run/page.tsx"), "RunPage"),
  validateSearch: runPageSearch,
});
const consents = createRoute({
  ...at("/consents"),
  component: lazyRouteComponent(() => import("./consents/inbox.tsx"), "ConsentsPage"),
  validateSearch: consentSearch,
});
const consent = createRoute({
  ...at("/consents/$consentId"),
  component: lazyRouteComponent(() => import("./consents/page.tsx"), "ConsentPage"),
});
const attempts = createRoute({
  ...at("/attempts"),
  component: lazyRouteComponent(() => import("./attempts/list.tsx"), "AttemptsPage"),
  validateSearch: attemptSearch,
});
const attempt = createRoute({
  ...at("/attempts/$attemptId"),
  component: lazyRouteComponent(() => import("./attempts/page.tsx"), "AttemptPage"),
});
const reconciler = createRoute({
  ...at("/reconciler"),
  component: lazyRouteComponent(() => import("./reconciler/page.tsx"), "ReconcilerPage"),
});
const workflows = createRoute({
  ...at("/workflows"),
  component: lazyRouteComponent(() => import("./workflows/page.tsx"), "WorkflowsPage"),
});

export const router = createRouter({
  routeTree: root.addChildren([home, runs, run, consents, consent, attempts, attempt, reconciler, workflows]),
  defaultErrorComponent: PageBroken,
  defaultPreload: "intent",
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
