import type { wire } from "@ghouls/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Copy } from "../parts/copy.tsx";
import { Empty } from "../parts/empty.tsx";
import { Fact, Facts } from "../parts/facts.tsx";
import { ProblemNote } from "../parts/problem.tsx";
import { Ago } from "../parts/time.tsx";
import { Tree } from "../parts/tree.tsx";
import { useClient } from "../session/gate.tsx";
import "../reconciler/reconciler.css";

const LOOK_MS = 15_000;

/** The workflows of this build, and what runs are pinned to: what a deploy would strand. */
export function WorkflowsPage() {
  const client = useClient();
  const workflows = useQuery({
    queryKey: ["workflows"],
    queryFn: ({ signal }) => client.listWorkflows({ signal }),
    refetchInterval: LOOK_MS,
  });
  const pinned = useQuery({
    queryKey: ["pinned"],
    queryFn: ({ signal }) => client.listPinned({ signal }),
    refetchInterval: LOOK_MS,
  });
  const pins = pinned.data?.pinned ?? [];
  const registered = workflows.data?.workflows ?? [];
  const known = new Set(registered.map(({ name, digest }) => `${name}@${digest}`));
  const others = pins.filter(({ name, digest }) => !known.has(`${name}@${digest}`));
  return (
    <div className="page">
      <div className="page-head">
        <h1>Workflows</h1>
      </div>
      <ProblemNote error={workflows.error ?? pinned.error} />
      {pinned.data?.complete === false && (
        <p className="note">
          There are more open runs than are counted at once: the counts are of the newest.
        </p>
      )}
      {others.length > 0 && <Others pins={others} />}
      {workflows.data !== undefined && registered.length === 0 && (
        <Empty title="This build has no workflow">
          <p>
            List them in <code>ghouls.config.ts</code>.
          </p>
        </Empty>
      )}
      {registered.map((one) => (
        <Registered
          key={`${one.name}@${one.version}`}
          workflow={one}
          pin={pins.find(({ name, digest }) => name === one.name && digest === one.digest)}
        />
      ))}
    </div>
  );
}

type Pin = wire.PinnedList["pinned"][number];

const HELD: Readonly<Record<Pin["held"], readonly [string, string, string]>> = {
  build: ["carried", "good", "This build accepts that code, and carries its runs on."],
  release: ["released", "wait", "A release has that code: workers load it for these runs."],
  nowhere: [
    "stranded",
    "bad",
    "Nobody has that code: these runs stand still until somebody deploys it, accepts it, or ends them.",
  ],
};

/** Code that runs are pinned to beside that of this build. */
function Others({ pins }: { pins: readonly Pin[] }) {
  return (
    <section className="sheet" aria-labelledby="others">
      <h2 id="others">Runs on other code</h2>
      <ul className="rows">
        {pins.map((pin) => {
          const [name, tone, told] = HELD[pin.held];
          return (
            <li key={`${pin.name}@${pin.version}@${pin.digest}`}>
              <p>
                <span className={`pill tone-${tone}`}>{name}</span>{" "}
                <strong>
                  {pin.name} <span className="quiet">v{pin.version}</span>
                </strong>{" "}
                <Open pin={pin} />
              </p>
              <p className="quiet small wrap">
                {told} <code>{pin.digest}</code>
              </p>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Open({ pin }: { pin: Pin }) {
  return (
    <span>
      <Link to="/runs" search={{ workflow: pin.name }}>
        {pin.openRuns} open {pin.openRuns === 1 ? "run" : "runs"}
      </Link>
      <span className="quiet small">
        , the oldest from <Ago at={pin.oldestAt} />
      </span>
    </span>
  );
}

function Registered({
  workflow,
  pin,
}: {
  workflow: wire.WorkflowList["workflows"][number];
  pin: Pin | undefined;
}) {
  return (
    <section className="sheet" aria-label={`${workflow.name} version ${workflow.version}`}>
      <h2>
        {workflow.name} <span className="quiet">v{workflow.version}</span>
      </h2>
      <Facts>
        <Fact name="Open runs pinned to it">
          {pin === undefined ? <span className="quiet">none</span> : <Open pin={pin} />}
        </Fact>
        <Fact name="Digest">
          <code title={workflow.digest}>{workflow.digest.slice(0, 19)}…</code>{" "}
          <Copy text={workflow.digest} what="the digest" />
        </Fact>
        <Fact name="Queue">{workflow.queue}</Fact>
        <Fact name="When its worker is lost">
          {workflow.onWorkerLoss === "resume" ? "it goes on" : "it fails"}
        </Fact>
      </Facts>
      <details>
        <summary>Schemas</summary>
        <div className="schemas">
          <div>
            <h3>Input</h3>
            <Tree value={workflow.inputSchema ?? null} name="Input schema" open={3} />
          </div>
          <div>
            <h3>Output</h3>
            <Tree value={workflow.outputSchema ?? null} name="Output schema" open={3} />
          </div>
        </div>
      </details>
    </section>
  );
}
