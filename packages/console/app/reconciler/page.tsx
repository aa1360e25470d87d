import { Faults } from "./faults.tsx";
import { Passes } from "./passes.tsx";
import { Pauses } from "./pauses.tsx";
import "./reconciler.css";

/** What keeps runs going, what keeps them still, and what does not hold in the ledger. */
export function ReconcilerPage() {
  return (
    <div className="page">
      <div className="page-head">
        <h1>Reconciler</h1>
      </div>
      <Faults />
      <Pauses />
      <Passes />
    </div>
  );
}
