import { loadConfig, type ConsoleConfig } from "./config.ts";

/** Who is signed in, for as long as the tab is open: the token goes nowhere but into the headers of requests. */
export interface Session {
  readonly state: () => SessionState;
  readonly subscribe: (listener: () => void) => () => void;
  readonly signIn: (token: string) => void;
  /** @param why what the person is told at the door; absent where they asked for it */
  readonly signOut: (why?: string) => void;
}

type SessionState =
  | { readonly at: "opening" }
  | { readonly at: "broken"; readonly why: string }
  | { readonly at: "door"; readonly config: ConsoleConfig; readonly why: string | undefined }
  | { readonly at: "in"; readonly config: ConsoleConfig; readonly token: string };

const KEY = "ghouls.token";

/**
 * Opens the session of a page. A token in the fragment (`#token=…`, as the link of `ghouls console` has it) is taken and leaves
 * the address at once; a fragment is never sent to a server.
 */
export function openSession(page: Pick<Window, "sessionStorage" | "location" | "history">): Session {
  const listeners = new Set<() => void>();
  let state: SessionState = { at: "opening" };
  const become = (next: SessionState): void => {
    state = next;
    for (const listener of listeners) listener();
  };
  const linked = tokenOfFragment(page.location.hash);
  if (linked !== undefined) {
    page.sessionStorage.setItem(KEY, linked);
    page.history.replaceState(null, "", page.location.pathname + page.location.search);
  }
  loadConfig().then(
    (config) => {
      const token = page.sessionStorage.getItem(KEY);
      become(token === null ? { at: "door", config, why: undefined } : { at: "in", config, token });
    },
    (error: unknown) => become({ at: "broken", why: error instanceof Error ? error.message : String(error) }),
  );
  const config = (): ConsoleConfig | undefined =>
    state.at === "door" || state.at === "in" ? state.config : undefined;
  return {
    state: () => state,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    signIn: (token) => {
      const known = config();
      if (known === undefined) return;
      page.sessionStorage.setItem(KEY, token);
      become({ at: "in", config: known, token });
    },
    signOut: (why) => {
      const known = config();
      if (known === undefined) return;
      page.sessionStorage.removeItem(KEY);
      become({ at: "door", config: known, why });
    },
  };
}

/** The token of `#token=…`; undefined where there is none. */
function tokenOfFragment(fragment: string): string | undefined {
  const token = new URLSearchParams(fragment.replace(/^#/, "")).get("token");
  return token === null || token === "" ? undefined : token;
}
