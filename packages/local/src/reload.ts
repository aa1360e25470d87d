import { readFile } from "node:fs/promises";
import type { WorkflowPin } from "@ghouls/core";
import type { Change } from "./changes.ts";
import { changesBetween, describeChanges, leftPins } from "./changes.ts";
import type { Code, CodeAnswer, Refusal } from "./code.ts";
import { isDeepStrictEqual } from "node:util";
import type { FileWatch } from "./watch.ts";

/** What the board shows of the code that runs. */
export interface CodeState {
  readonly loadedAt: string;
  /** Digests by `<name>@<version>`. */
  readonly workflows: Readonly<Record<string, string>>;
  /** What the last reload has changed. */
  readonly changed?: readonly Change[];
  /** Why what was saved last does not run. */
  readonly refused?: Refusal;
}

export interface ReloadOptions {
  /** The code that runs. */
  readonly first: Code;
  /** Reads the code as it is on the disk. */
  readonly read: (signal: AbortSignal) => Promise<CodeAnswer>;
  /** @throws GhoulsError where the code cannot be run; then the code before still is */
  readonly replace: (code: Code) => Promise<void>;
  readonly watch: (changed: () => void) => FileWatch;
  /** Open runs of these pins. */
  /** Says how many units there are of each capacity. */
  readonly sayCapacities: (capacities: Readonly<Record<string, number>>) => Promise<void>;
  readonly openOfPins: (
    pins: readonly WorkflowPin[],
  ) => Promise<readonly (WorkflowPin & { readonly runs: number })[]>;
  /** Words about the runs that this code does not carry. */
  readonly aboutStranded: (code: Code) => Promise<readonly string[]>;
  readonly say: (line: string) => void;
  readonly show: (state: CodeState) => Promise<void>;
}

export interface Reloading {
  /** Watches no more, and waits for a reload that is under way. */
  stop(): Promise<void>;
}

export function firstState({ manifest }: Code): CodeState {
  return { loadedAt: new Date().toISOString(), workflows: manifest };
}

/**
 * Runs what is saved: whenever a module that the configuration reaches has changed, its code is read, and takes the place
 * of the one that runs. Code that cannot be loaded changes nothing; the next save is looked at again.
 */
export function startReloading(options: ReloadOptions): Reloading {
  const stopping = new AbortController();
  let running = options.first;
  let shown = firstState(running);
  let watched: readonly string[] = Object.keys(running.files);
  let seen: Readonly<Record<string, string | undefined>> = running.files;
  let underWay: Promise<void> | undefined;
  let again = false;

  const show = async (state: CodeState): Promise<void> => {
    shown = state;
    await options.show(state);
  };
  const refuse = async ({ message, fix, issues }: Refusal): Promise<void> => {
    const refused = {
      message,
      ...(fix === undefined ? {} : { fix }),
      ...(issues === undefined ? {} : { issues }),
    };
    if (isDeepStrictEqual(refused, shown.refused)) return;
    const { loadedAt, workflows } = shown;
    await show({ loadedAt, workflows, refused });
    options.say(`what was saved does not run, the code before goes on: ${message}`);
    for (const issue of issues ?? []) options.say(`  ${issue.path}: ${issue.message}`);
    if (fix !== undefined) options.say(`  Fix: ${fix}`);
  };
  const take = async (code: Code): Promise<void> => {
    if (isDeepStrictEqual(code, running)) {
      const { loadedAt, workflows, refused } = shown;
      await show({ loadedAt, workflows });
      if (refused !== undefined) options.say("the code is again as it runs");
      return;
    }
    const restart = needsRestart(running, code);
    if (restart !== undefined) return refuse(restart);
    const files = changedFiles(running.files, code.files);
    const changed = changesBetween(running.manifest, code.manifest);
    await options.replace(code);
    const before = running.settings.capacities;
    running = code;
    const lines = [
      ...(await words(options, changed, code)),
      ...(await capacityWords(options, before, code.settings.capacities)),
    ];
    await show({ loadedAt: new Date().toISOString(), workflows: code.manifest, changed });
    options.say(
      `reloaded: ${files.slice(0, 3).join(", ")}${files.length > 3 ? ` and ${files.length - 3} more` : ""}`,
    );
    for (const line of lines) options.say(`  ${line}`);
  };
  /** Answers with the texts that it was of, as far as they are known. */
  const attempt = async (): Promise<Readonly<Record<string, string>>> => {
    const answer = await options.read(stopping.signal);
    if (stopping.signal.aborted) return {};
    if ("moved" in answer) {
      seen = {};
      again = true;
      return {};
    }
    const others = "refused" in answer ? answer.files : Object.keys(answer.code.files);
    watched = [...new Set([...Object.keys(running.files), ...others])];
    if ("refused" in answer) {
      await refuse(answer.refused);
      return {};
    }
    await take(answer.code).catch((error: Refusal) => refuse(error));
    return answer.code.files;
  };
  const look = async (): Promise<void> => {
    do {
      again = false;
      const now = await textsOf(watched);
      if (watched.every((file) => now[file] === seen[file])) continue;
      seen = now;
      const taken = await attempt();
      seen = { ...seen, ...taken };
      watch.set(watched);
      // What is watched from now on only may have been saved meanwhile.
      again ||= watched.some((file) => !(file in seen));
    } while (again && !stopping.signal.aborted);
  };
  const changed = (): void => {
    again = true;
    underWay ??= look()
      .catch((error: unknown) => options.say(`a reload failed: ${String(error)}`))
      .finally(() => {
        underWay = undefined;
      });
  };
  const watch = options.watch(changed);
  watch.set(watched);
  // A save between the reading of the first code and the first look of the watch.
  changed();
  void options.show(shown);
  return {
    stop: async () => {
      stopping.abort();
      watch.close();
      await underWay;
    },
  };
}

async function words(
  options: ReloadOptions,
  changed: readonly Change[],
  code: Code,
): Promise<readonly string[]> {
  if (changed.length === 0) return ["no workflow's digest has changed"];
  try {
    const moves = describeChanges(changed, await options.openOfPins(leftPins(changed)));
    return [...moves, ...(await options.aboutStranded(code))];
  } catch (error) {
    return [...describeChanges(changed, []), `the runs that are open could not be counted: ${String(error)}`];
  }
}

/** Says what the code that runs now gives of each capacity, as a deploy does. */
async function capacityWords(
  options: ReloadOptions,
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
): Promise<readonly string[]> {
  try {
    await options.sayCapacities(after);
  } catch (error) {
    return [`how many units there are could not be said, and stays as it was: ${String(error)}`];
  }
  return Object.entries(after).flatMap(([name, units]) =>
    before[name] === units ? [] : [`${name}: ${before[name] ?? 0} → ${units} units`],
  );
}

/** What the host itself has set up by the configuration stays as long as it lives; capacities are said anew with the code. */
function needsRestart(before: Code, after: Code): Refusal | undefined {
  const { queues, capacities: _, ...settings } = before.settings;
  const { queues: newQueues, capacities: __, ...newSettings } = after.settings;
  const differs =
    !isDeepStrictEqual(Object.keys(queues).toSorted(), Object.keys(newQueues).toSorted()) ||
    !isDeepStrictEqual(settings, newSettings);
  if (!differs) return undefined;
  return {
    message:
      "the names of the queues, the schema, the times of the protocol or what runs beside have changed",
    fix: "Restart `ghouls dev` to take them, or put them back.",
  };
}

function changedFiles(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): readonly string[] {
  const files = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
  return files.filter((file) => before[file] !== after[file]).map((file) => inShort(file));
}

/** Two parts of a path tell which one it is. */
function inShort(file: string): string {
  return file.split("/").slice(-2).join("/");
}

async function textsOf(files: readonly string[]): Promise<Readonly<Record<string, string | undefined>>> {
  const texts = files.map(
    async (file) => [file, await readFile(file, "utf8").catch(() => undefined)] as const,
  );
  return Object.fromEntries(await Promise.all(texts));
}
