export { configText, type ConsoleConfig } from "./config.ts";
export { cacheControlOf, consoleHeaders, contentSecurityPolicy, type HeaderOptions } from "./headers.ts";
export { API_PATHS, openSite, SITE_FOLDER, type Site, type SiteFile, type SiteOptions } from "./site.ts";
