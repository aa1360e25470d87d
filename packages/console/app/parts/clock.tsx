import { createContext, use, useEffect, useState, type ReactNode } from "react";

const Now = createContext(0);

/** One clock for a page, in whole seconds, so that what counts up or down does so together. */
export function ClockProvider({ children }: { children: ReactNode }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return <Now value={now}>{children}</Now>;
}

/** Milliseconds since 1970, of this machine; only for display. */
export function useNow(): number {
  return use(Now);
}
