const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** "1.4 s", "3 min 20 s", "2 d 4 h": two units at most. @param ms milliseconds, not negative */
export function spanText(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  const index = UNITS.findIndex(([, size]) => ms >= size);
  const [unit, size] = UNITS[index] ?? UNITS[3];
  const whole = Math.floor(ms / size);
  const next = UNITS[index + 1];
  const rest = next === undefined ? 0 : Math.floor((ms - whole * size) / next[1]);
  return rest === 0 || next === undefined ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${next[0]}`;
}

/** "just now", "3 min ago", "2 d ago". */
export function agoText(at: string, now: number): string {
  const ms = now - Date.parse(at);
  if (ms < 5_000) return "just now";
  return `${coarse(ms)} ago`;
}

/** "in 2 d 23 h", "in 40 s", "now". */
export function leftText(at: string, now: number): string {
  const ms = Date.parse(at) - now;
  return ms <= 0 ? "now" : `in ${spanText(Math.max(1_000, Math.floor(ms / 1_000) * 1_000))}`;
}

/** "12 kB", "3.4 MB". @param bytes decimal units */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

function coarse(ms: number): string {
  const [unit, size] = UNITS.find(([, each]) => ms >= each) ?? UNITS[3];
  return `${Math.floor(ms / size)} ${unit}`;
}
