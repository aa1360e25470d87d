import { createClient, type GhoulsClient } from "@ghouls/client";
import { createContext, use, useMemo, useSyncExternalStore, type ReactNode } from "react";
import { Door } from "./door.tsx";
import type { Session } from "./session.ts";

interface SignedIn {
  readonly client: GhoulsClient;
  readonly signOut: (why?: string) => void;
}

const SignedInContext = createContext<SignedIn | undefined>(undefined);

/** Shows its children to whoever is signed in, and the door to everybody else. */
export function SessionGate({ session, children }: { session: Session; children: ReactNode }) {
  const state = useSyncExternalStore(session.subscribe, session.state);
  const signedIn = useMemo(() => {
    if (state.at !== "in") return undefined;
    const { config, token } = state;
    const here = config.apiUrl === "" ? window.location.origin : config.apiUrl;
    const events = config.eventsUrl === undefined ? {} : { eventsUrl: config.eventsUrl || here };
    const client = createClient({ baseUrl: here, token, tries: 2, ...events });
    return { client, signOut: session.signOut };
  }, [state, session]);
  if (signedIn !== undefined) return <SignedInContext value={signedIn}>{children}</SignedInContext>;
  if (state.at === "door") {
    return <Door config={state.config} why={state.why} signIn={session.signIn} />;
  }
  if (state.at === "broken") {
    return (
      <main className="door">
        <h1>The console cannot start</h1>
        <p role="alert">{state.why}</p>
      </main>
    );
  }
  return null;
}

/** The client of whoever is signed in. */
export function useClient(): GhoulsClient {
  return useSignedIn().client;
}

export function useSignedIn(): SignedIn {
  const signedIn = use(SignedInContext);
  if (signedIn === undefined) throw new Error("nobody is signed in here");
  return signedIn;
}
