import type { RunStatus } from "@ghouls/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState, type SubmitEvent } from "react";
import { Shown } from "../parts/shown.tsx";
import { useClient } from "../session/gate.tsx";
import { meaningOf, type RunSearch } from "./search.ts";

interface FiltersProps {
  readonly search: RunSearch;
  readonly onChange: (next: RunSearch) => void;
}

/** States as people ask for them. */
const GROUPS: readonly { readonly name: string; readonly states: readonly RunStatus[] }[] = [
  { name: "Queued", states: ["QUEUED"] },
  { name: "Running", states: ["RUNNING", "AWAITING_HARDWARE"] },
  {
    name: "Waiting",
    states: ["AWAITING_CONSENT", "AWAITING_DELEGATE", "AWAITING_CHILD", "AWAITING_SIGNAL", "AWAITING_TIMER"],
  },
  { name: "Ending", states: ["COMPLETING", "FAILING", "CANCELLING"] },
  { name: "Done", states: ["DONE"] },
  { name: "Failed", states: ["FAILED"] },
  { name: "Cancelled", states: ["CANCELLED"] },
];
const SPANS = [
  [1, "last hour"],
  [24, "last 24 hours"],
  [168, "last 7 days"],
  [720, "last 30 days"],
] as const;

export function Filters({ search, onChange }: FiltersProps) {
  return (
    <div className="filters" role="search">
      <SearchBox search={search} onChange={onChange} />
      <StatusFilter search={search} onChange={onChange} />
      <WorkflowFilter search={search} onChange={onChange} />
      <select
        aria-label="Admitted"
        value={search.hours ?? ""}
        onChange={({ target }) =>
          onChange(without(search, "hours", target.value === "" ? undefined : Number(target.value)))
        }
      >
        <option value="">any time</option>
        {SPANS.map(([hours, name]) => (
          <option key={hours} value={hours}>
            {name}
          </option>
        ))}
      </select>
      <button
        type="button"
        className="chip"
        aria-pressed={search.attention === true}
        onClick={() => onChange(without(search, "attention", search.attention === true ? undefined : true))}
      >
        Needs attention
      </button>
      <Chosen search={search} onChange={onChange} />
    </div>
  );
}

function SearchBox({ search, onChange }: FiltersProps) {
  const navigate = useNavigate();
  const box = useRef<HTMLInputElement>(null);
  const [problem, setProblem] = useState(false);
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      if (event.key !== "/" || isTyping(event.target)) return;
      event.preventDefault();
      box.current?.focus();
    };
    window.addEventListener("keydown", focus);
    return () => window.removeEventListener("keydown", focus);
  }, []);
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const meaning = meaningOf(box.current?.value ?? "");
    setProblem(meaning === undefined && box.current?.value !== "");
    if (meaning === undefined) return;
    if (box.current !== null) box.current.value = "";
    if (meaning.kind === "run") {
      void navigate({ to: "/runs/$runId", params: { runId: meaning.runId } });
    } else if (meaning.kind === "workflow") onChange({ ...search, workflow: meaning.workflow });
    else onChange({ ...search, label: [...new Set([...(search.label ?? []), meaning.label])] });
  };
  return (
    <form className="search" onSubmit={submit}>
      <input
        ref={box}
        type="search"
        aria-label="Search runs"
        placeholder="Run id, label:value or workflow   /"
        aria-invalid={problem}
        onKeyDown={(event) => {
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      {problem && (
        <p role="alert" className="field-problem small">
          Write a run’s id, a label such as team:payments, or the name of a workflow.
        </p>
      )}
    </form>
  );
}

/** Whether keys belong to what is written. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select, dialog") !== null;
}

function StatusFilter({ search, onChange }: FiltersProps) {
  const chosen = new Set<string>(search.status);
  return (
    <div className="chips" role="group" aria-label="Status">
      {GROUPS.map(({ name, states }) => {
        const isOn = states.every((state) => chosen.has(state));
        const rest = (search.status ?? []).filter((state) => !states.includes(state));
        const next = isOn ? rest : [...rest, ...states];
        return (
          <button
            key={name}
            type="button"
            className="chip"
            aria-pressed={isOn}
            onClick={() => onChange(without(search, "status", next.length === 0 ? undefined : next))}
          >
            {name}
          </button>
        );
      })}
    </div>
  );
}

function WorkflowFilter({ search, onChange }: FiltersProps) {
  const client = useClient();
  const { data } = useQuery({
    queryKey: ["workflows"],
    queryFn: ({ signal }) => client.listWorkflows({ signal }),
    staleTime: 30_000,
  });
  const names = new Set(data?.workflows.map(({ name }) => name));
  if (search.workflow !== undefined) names.add(search.workflow);
  return (
    <select
      aria-label="Workflow"
      value={search.workflow ?? ""}
      onChange={({ target }) => onChange(without(search, "workflow", target.value || undefined))}
    >
      <option value="">all workflows</option>
      {[...names].toSorted().map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

/** Filters that have no control of their own, each with a way to be rid of it. */
function Chosen({ search, onChange }: FiltersProps) {
  return (
    <>
      {search.label?.map((label) => (
        <button
          key={label}
          type="button"
          className="chip"
          aria-pressed="true"
          aria-label={`Without the label ${label}`}
          onClick={() => {
            const rest = search.label?.filter((each) => each !== label) ?? [];
            onChange(without(search, "label", rest.length === 0 ? undefined : rest));
          }}
        >
          <Shown text={label} /> ×
        </button>
      ))}
      {search.parent !== undefined && (
        <button
          type="button"
          className="chip"
          aria-pressed="true"
          onClick={() => onChange(without(search, "parent", undefined))}
        >
          Children of {search.parent.slice(0, 8)} ×
        </button>
      )}
    </>
  );
}

function without<Key extends keyof RunSearch>(
  search: RunSearch,
  key: Key,
  value: RunSearch[Key] | undefined,
): RunSearch {
  const { [key]: _, ...rest } = search;
  return (value === undefined ? rest : { ...rest, [key]: value }) as RunSearch;
}
