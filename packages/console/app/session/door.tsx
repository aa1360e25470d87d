import { useState, type SubmitEvent } from "react";
import { Mark } from "../shell/mark.tsx";
import type { ConsoleConfig } from "./config.ts";

interface DoorProps {
  readonly config: ConsoleConfig;
  readonly why: string | undefined;
  readonly signIn: (token: string) => void;
}

const TOKEN = /^[A-Za-z0-9._~+/-]{1,8192}=*$/;

/** Where one signs in. */
export function Door({ why, signIn }: DoorProps) {
  const [problem, setProblem] = useState<string>();
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const value = new FormData(event.currentTarget).get("token");
    const token = typeof value === "string" ? value.trim().replace(/^Bearer +/i, "") : "";
    if (TOKEN.test(token)) signIn(token);
    else setProblem("That is no token: it is one word without spaces, such as ghoul_….");
  };
  return (
    <main className="door">
      <h1>
        <Mark /> Ghouls
      </h1>
      {why !== undefined && <p role="status">{why}</p>}
      <form onSubmit={submit}>
        <label htmlFor="token">Token</label>
        <input
          id="token"
          name="token"
          type="password"
          autoComplete="off"
          autoFocus
          aria-describedby="token-help"
          aria-invalid={problem !== undefined}
        />
        {problem !== undefined && (
          <p role="alert" className="field-problem">
            {problem}
          </p>
        )}
        <button type="submit" className="primary">
          Sign in
        </button>
        <p id="token-help" className="quiet">
          On one machine <code>ghouls console</code> prints a link that signs in. A deployment’s keys are made
          with <code>ghouls keys create</code>. The token stays in this tab.
        </p>
      </form>
    </main>
  );
}
