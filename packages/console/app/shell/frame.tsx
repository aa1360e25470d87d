import { Link, Outlet } from "@tanstack/react-router";
import { useState } from "react";
import { ClockProvider } from "../parts/clock.tsx";
import { useSignedIn } from "../session/gate.tsx";
import { useMe } from "../session/me.ts";
import { Mark } from "./mark.tsx";
import { chosenTheme, turnTheme } from "./theme.ts";

const PAGES = [
  { to: "/runs", name: "Runs" },
  { to: "/consents", name: "Consents" },
  { to: "/attempts", name: "Jobs" },
  { to: "/reconciler", name: "Reconciler" },
  { to: "/workflows", name: "Workflows" },
] as const;

/** What stands around every page. */
export function Frame() {
  return (
    <ClockProvider>
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <header className="bar">
        <Link to="/runs" className="brand" aria-label="Ghouls: all runs">
          <Mark /> <span>Ghouls</span>
        </Link>
        <nav aria-label="Pages">
          {PAGES.map(({ to, name }) => (
            <Link key={to} to={to} activeProps={{ "aria-current": "page" }}>
              {name}
            </Link>
          ))}
        </nav>
        <Me />
      </header>
      <main id="main" tabIndex={-1}>
        <Outlet />
      </main>
    </ClockProvider>
  );
}

function Me() {
  const { signOut } = useSignedIn();
  const { data: me } = useMe();
  const [theme, setTheme] = useState(chosenTheme);
  return (
    <div className="me">
      {me !== undefined && (
        <span className="quiet me-name" title={`tenant ${me.tenantId}; ${me.roles.join(", ") || "no role"}`}>
          {me.subject}
        </span>
      )}
      <button
        type="button"
        className="plain"
        aria-label={`Colours: ${theme}`}
        title={`Colours: ${theme}`}
        onClick={() => setTheme(turnTheme())}
      >
        <span aria-hidden="true">{theme === "system" ? "◐" : theme === "light" ? "☀" : "☾"}</span>
      </button>
      <button type="button" className="plain" onClick={() => signOut()}>
        Sign out
      </button>
    </div>
  );
}
