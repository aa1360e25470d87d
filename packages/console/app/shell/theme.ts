const KEY = "ghouls.theme";
const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

/** What the person chose, the system's where they did not. */
export function chosenTheme(): Theme {
  const kept = localStorage.getItem(KEY);
  return THEMES.find((theme) => theme === kept) ?? "system";
}

export function applyTheme(theme: Theme = chosenTheme()): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

/** Keeps the next of the three and applies it. */
export function turnTheme(): Theme {
  const next = THEMES[(THEMES.indexOf(chosenTheme()) + 1) % THEMES.length] ?? "system";
  localStorage.setItem(KEY, next);
  applyTheme(next);
  return next;
}
