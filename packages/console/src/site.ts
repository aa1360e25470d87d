import { readdir, readFile } from "node:fs/promises";
import { extname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { configText, type ConsoleConfig } from "./config.ts";
import { cacheControlOf, consoleHeaders, type HeaderOptions } from "./headers.ts";

/** Where the built console lies: beside the sources in the repository, inside the package where it is installed. */
export const SITE_FOLDER = fileURLToPath(new URL("../site", import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
};

export interface SiteFile {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** The built console, in memory: it is some hundred kilobytes. */
export interface Site {
  /**
   * What a request gets from the console; undefined where it is not for it.
   * @param path of the URL, without its query
   * @param accept of the request: a page is only for who asks for one, so that the API answers the rest
   */
  fileFor(path: string, accept: string | undefined): SiteFile | undefined;
}

export interface SiteOptions extends HeaderOptions {
  readonly config: ConsoleConfig;
  /** {@link SITE_FOLDER} where absent. */
  readonly folder?: string;
}

/** Reads the built console. @returns undefined where it is not built */
export async function openSite({
  config,
  folder = SITE_FOLDER,
  ...options
}: SiteOptions): Promise<Site | undefined> {
  const paths = await filesBelow(folder);
  if (!paths.includes("/index.html")) return undefined;
  const headers = consoleHeaders(options);
  const fileOf = (path: string, body: Uint8Array): SiteFile => ({
    body,
    headers: { "content-type": typeOf(path), "cache-control": cacheControlOf(path), ...headers },
  });
  const read = async (path: string): Promise<[string, SiteFile]> => [
    path,
    fileOf(path, await readFile(join(folder, path))),
  ];
  // A map of what is there: a path is looked up in it, and never on the disk.
  const files = new Map(await Promise.all(paths.map(read)));
  files.set("/config.json", fileOf("/config.json", new TextEncoder().encode(configText(config))));
  return {
    fileFor: (path, accept) => {
      const file = files.get(path);
      if (file !== undefined) return file;
      return isPage(path, accept) ? files.get("/index.html") : undefined;
    },
  };
}

/** What belongs to the API wherever both have one origin. */
export const API_PATHS = ["/v1", "/healthz", "/readyz", "/openapi.json"] as const;

/** The page finds its way by itself below every path that is neither a file's nor the API's. */
function isPage(path: string, accept: string | undefined): boolean {
  const isOfApi = API_PATHS.some((each) => path === each || path.startsWith(`${each}/`));
  return !isOfApi && extname(path) === "" && (accept ?? "").includes("text/html");
}

function typeOf(path: string): string {
  return TYPES[extname(path)] ?? "application/octet-stream";
}

/** Paths as a URL has them. */
async function filesBelow(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length).split(sep).join("/"));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}
