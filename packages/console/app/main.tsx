import "./styles/base.css";
import "./styles/parts.css";
import "./styles/shell.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { router } from "./router.tsx";
import { createQueries } from "./session/queries.ts";
import { SessionGate } from "./session/gate.tsx";
import { openSession } from "./session/session.ts";
import { applyTheme } from "./shell/theme.ts";

applyTheme();
const session = openSession(window);
const queries = createQueries(session);
const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <SessionGate session={session}>
        <RouterProvider router={router} />
      </SessionGate>
    </QueryClientProvider>
  </StrictMode>,
);
