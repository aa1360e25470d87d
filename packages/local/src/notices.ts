/** What the check of replays has found in a run: a workflow that is not deterministic. */
export interface Notice {
  readonly at: string;
  readonly runId: string;
  readonly message: string;
  readonly fix: string;
}

/** How many the board keeps. */
const KEPT = 20;

/** The notice that a line of a worker's log is; undefined for any other line. */
export function noticeIn(line: string): Notice | undefined {
  const text = line.slice(line.indexOf(" | ") + 3);
  if (!text.includes('"check":"replay"')) return undefined;
  try {
    const { time, runId, message, fix } = JSON.parse(text) as Record<string, unknown>;
    return { at: String(time), runId: String(runId), message: String(message), fix: String(fix) };
  } catch {
    // What user code prints may look like anything.
    return undefined;
  }
}

/** The newest notices, this one the last. */
export function withNotice(notices: readonly Notice[], notice: Notice): readonly Notice[] {
  return [...notices, notice].slice(-KEPT);
}

/** The lines of a notice for a person. */
export function describeNotice({ message, runId, fix }: Notice): readonly string[] {
  return [`${message} (run ${runId})`, `  Fix: ${fix}`];
}
