import type { wire } from "@ghouls/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ProblemNote } from "../parts/problem.tsx";
import { Shown } from "../parts/shown.tsx";
import { Ago, Left } from "../parts/time.tsx";
import { useClient } from "../session/gate.tsx";
import { useMe } from "../session/me.ts";

const LOOK_MS = 5_000;

/** How far the passes have come, what stands aside, and what was repaired: of every tenant, so it needs a permission of the deployment. */
export function Passes() {
  const { data: me } = useMe();
  if (me === undefined) return null;
  if (!me.permissions.includes("deployment:reconcile")) {
    return (
      <section className="sheet" aria-labelledby="passes">
        <h2 id="passes">Passes</h2>
        <p className="quiet">
          Passes look after the runs of every tenant, so your token does not show them: it lacks the
          permission <code>deployment:reconcile</code>.{" "}
          <code>ghouls keys create --permission deployment:reconcile</code> makes one that has it.
        </p>
      </section>
    );
  }
  return <KnownPasses />;
}

function KnownPasses() {
  const client = useClient();
  const queries = useQueryClient();
  const { data: state, error } = useQuery({
    queryKey: ["reconciler"],
    queryFn: ({ signal }) => client.getReconciler({ limit: 50 }, { signal }),
    refetchInterval: LOOK_MS,
  });
  const running = useMutation({
    mutationFn: () => client.runPasses({}),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["reconciler"] }),
  });
  return (
    <>
      <section className="sheet" aria-labelledby="passes">
        <div className="section-head">
          <h2 id="passes">Passes</h2>
          <button type="button" disabled={running.isPending} onClick={() => running.mutate()}>
            {running.isPending ? "…" : "Run all now"}
          </button>
        </div>
        <ProblemNote error={error ?? running.error} />
        {state !== undefined && <PassTable passes={state.passes} />}
      </section>
      {state !== undefined && <Degraded state={state} />}
      {state !== undefined && <Repairs repairs={state.repairs} />}
    </>
  );
}

function PassTable({ passes }: { passes: readonly wire.PassState[] }) {
  return (
    <div className="scroll-x" tabIndex={0} role="group" aria-label="Table of passes">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Pass</th>
            <th scope="col">Last turn</th>
            <th scope="col">Found</th>
            <th scope="col">Repaired</th>
            <th scope="col">Failed</th>
            <th scope="col">Round</th>
          </tr>
        </thead>
        <tbody>
          {passes.map((pass) => (
            <tr key={pass.pass}>
              <td>
                <strong>{pass.pass}</strong>
                {pass.error !== null && (
                  <div className="field-problem small">
                    <Shown text={pass.error} />
                  </div>
                )}
              </td>
              <td className="nowrap">
                {pass.startedAt === null ? <span className="quiet">never</span> : <Ago at={pass.startedAt} />}
              </td>
              <td className="number">{pass.found}</td>
              <td className="number">{pass.repaired}</td>
              <td className={pass.failed > 0 ? "number field-problem" : "number"}>{pass.failed}</td>
              <td className="number quiet">{pass.round}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Degraded({ state }: { state: wire.ReconcilerState }) {
  const { degradedOwners, degradedPages } = state;
  return (
    <section className="sheet" aria-labelledby="degraded">
      <h2 id="degraded">Standing aside</h2>
      {degradedOwners.length === 0 && degradedPages.length === 0 && (
        <p className="quiet">Nothing: every owner answers in time.</p>
      )}
      <ul className="rows">
        {degradedOwners.map((owner) => (
          <li key={`${owner.pass} ${owner.owner}`}>
            <p>
              <strong>{owner.pass}</strong> <Shown text={owner.owner} />{" "}
              {owner.runId !== null && (
                <Link to="/runs/$runId" params={{ runId: owner.runId }}>
                  its run
                </Link>
              )}{" "}
              <span className="quiet small">
                since <Ago at={owner.degradedAt} />, {owner.tries} {owner.tries === 1 ? "try" : "tries"}, next{" "}
                <Left until={owner.nextTurnAt} />
              </span>
            </p>
            <p className="wrap">
              <Shown text={owner.reason} />
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Repairs({ repairs }: { repairs: wire.ReconcilerState["repairs"] }) {
  return (
    <section className="sheet" aria-labelledby="repairs">
      <h2 id="repairs">Newest repairs</h2>
      {repairs.length === 0 && <p className="quiet">Nothing had to be repaired.</p>}
      <ul className="rows">
        {repairs.map((repair) => (
          <li key={repair.repairId}>
            <p>
              <strong>{repair.rule}</strong> <span className="quiet">by {repair.pass}</span>{" "}
              <Link to="/runs/$runId" params={{ runId: repair.runId }}>
                run {repair.runId.slice(0, 8)}
              </Link>{" "}
              <span className="quiet small">
                <Ago at={repair.at} />
              </span>
            </p>
            <p className="small wrap quiet">
              <Shown text={repair.before} /> → <Shown text={repair.after} />
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}
