import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from "@tanstack/react-router";
import { NotFound, PageBroken } from "./shell/broken.tsx";
import { Frame } from "./shell/frame.tsx";
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

export const router = createRouter({
  routeTree: root.addChildren([home, runs, run]),
  defaultErrorComponent: PageBroken,
  defaultPreload: "intent",
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
