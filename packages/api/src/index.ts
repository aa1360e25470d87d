export * from "./apps.ts";
export type { EdgeDependencies, FetchHandler } from "./context.ts";
export { openApiDocument } from "./document.ts";
export { ROUTE_KEYS } from "./routes.ts";
