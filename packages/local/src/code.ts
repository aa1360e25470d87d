import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { GhoulsError } from "@ghouls/core";
import type { Issue } from "@ghouls/core";
import { endChild, startChild, untilReady } from "ghouls/processes/child";
import { entryPoint } from "./entry-point.ts";
import { writeAtomically } from "ghouls/processes/files";
import type { HostLog } from "./log.ts";
import type { LoadedConfig } from "./parts.ts";

/** What a configuration says that the host needs when its code is loaded anew. */
export type CodeSettings = Pick<
  LoadedConfig,
  "queues" | "databaseSchema" | "actsMarginSeconds" | "leaseMs" | "beatMs" | "capacities" | "dev"
>;

/** Digests by `<name>@<version>`. */
export type Manifest = Readonly<Record<string, string>>;

/** Code that other code may carry the runs of. */
interface Accepted {
  readonly name: string;
  readonly digest: string;
}

/** The code of one moment: every process that runs it gets exactly these texts, and pins runs by these digests. */
export interface Code {
  /** Texts of the local modules that the configuration reaches, by path. */
  readonly files: Readonly<Record<string, string>>;
  readonly manifest: Manifest;
  /** Earlier code whose runs it may carry on, too. */
  readonly accepts: readonly Accepted[];
  readonly settings: CodeSettings;
}

/** Why code is not taken. */
export interface Refusal {
  readonly message: string;
  readonly fix?: string;
  readonly issues?: readonly Issue[];
}

export type CodeAnswer =
  | { readonly code: Code }
  /** With the files in which it may be mended. */
  | { readonly refused: Refusal; readonly files: readonly string[] }
  /** Something was saved while it was read: to be asked again. */
  | { readonly moved: true };

const READ_TIMEOUT_MS = 60_000;

export interface ReadCodeOptions {
  readonly handlers: string;
  readonly configPath: string;
  readonly env: NodeJS.ProcessEnv;
  readonly log: HostLog;
  /** Gives up. */
  readonly signal: AbortSignal;
}

/** Reads the code of a configuration as it is on the disk, in a process of its own. Never rejects. */
export async function readCode(options: ReadCodeOptions): Promise<CodeAnswer> {
  const child = startChild({
    source: "code",
    entry: entryPoint("code"),
    args: [options.handlers, options.configPath],
    env: options.env,
    log: options.log,
  });
  const bound = AbortSignal.any([options.signal, AbortSignal.timeout(READ_TIMEOUT_MS)]);
  const give = (): void => child.kill("SIGKILL");
  bound.addEventListener("abort", give, { once: true });
  if (bound.aborted) give();
  try {
    const { answer } = await untilReady(child, "the code");
    return answer as CodeAnswer;
  } catch (error) {
    const { message, fix } = error as Refusal;
    return { refused: { message, ...(fix === undefined ? {} : { fix }) }, files: [] };
  } finally {
    bound.removeEventListener("abort", give);
    await endChild(child, "SIGKILL", READ_TIMEOUT_MS);
  }
}

/** The code at a start. @throws GhoulsError configuration_invalid where it cannot be loaded */
export async function readFirstCode(options: Omit<ReadCodeOptions, "signal">): Promise<Code> {
  for (;;) {
    const answer = await readCode({ ...options, signal: new AbortController().signal });
    if ("code" in answer) return answer.code;
    if ("moved" in answer) continue;
    const { message, ...rest } = answer.refused;
    throw new GhoulsError("configuration_invalid", message, rest);
  }
}

/** Code as a file, for the processes that are to run it. */
export interface KeptCode extends Code {
  readonly file: string;
  forget(): Promise<void>;
}

/** Where the code of a running host is; what is there at a start is left over. */
export interface CodeStore {
  keep(code: Code): Promise<KeptCode>;
  clear(): Promise<void>;
}

export function openCodeStore(dataDir: string): CodeStore {
  const folder = join(dataDir, "code");
  let kept = 0;
  return {
    keep: async (code) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const file = join(folder, `${(kept += 1)}.json`);
      await writeAtomically(file, JSON.stringify({ files: code.files, manifest: code.manifest }));
      return { ...code, file, forget: () => rm(file, { force: true }) };
    },
    clear: () => rm(folder, { recursive: true, force: true }),
  };
}
