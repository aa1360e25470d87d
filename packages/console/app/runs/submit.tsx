import type { wire } from "@ghouls/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId, useRef, useState } from "react";
import { Ask } from "../parts/ask.tsx";
import { useClient } from "../session/gate.tsx";
import { useMay } from "../session/me.ts";
import { sampleOf } from "./sample-input.ts";
import { labelsOf } from "./search.ts";

/** Asks for a run by hand. */
export function SubmitButton() {
  const [isOpen, setOpen] = useState(false);
  if (!useMay("runs:submit")) return null;
  return (
    <>
      <button type="button" className="primary" onClick={() => setOpen(true)}>
        New run
      </button>
      {isOpen && <SubmitDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function SubmitDialog({ onClose }: { onClose: () => void }) {
  const client = useClient();
  const navigate = useNavigate();
  const id = useId();
  // One key for the dialog: pressed twice, or again after an answer was lost, it is one run.
  const key = useRef(crypto.randomUUID());
  const { data } = useQuery({
    queryKey: ["workflows"],
    queryFn: ({ signal }) => client.listWorkflows({ signal }),
    staleTime: 30_000,
  });
  const workflows = data?.workflows ?? [];
  const [chosen, setChosen] = useState<string>();
  const workflow = workflows.find((each) => nameOf(each) === chosen) ?? workflows[0];
  const act = async (form: FormData): Promise<void> => {
    if (workflow === undefined) throw new Error("There is no workflow to run.");
    const request = requestOf(workflow, textOf(form, "input"), textOf(form, "labels"));
    const { runId } = await client.submit(request, { idempotencyKey: key.current });
    await navigate({ to: "/runs/$runId", params: { runId } });
  };
  return (
    <Ask title="New run" verb="Submit" act={(_, form) => act(form)} onClose={onClose}>
      <label htmlFor={`${id}-workflow`}>Workflow</label>
      <select
        id={`${id}-workflow`}
        value={workflow === undefined ? "" : nameOf(workflow)}
        onChange={({ target }) => setChosen(target.value)}
      >
        {workflows.map((each) => (
          <option key={nameOf(each)}>{nameOf(each)}</option>
        ))}
      </select>
      <label htmlFor={`${id}-input`}>Input, as JSON</label>
      <textarea
        key={workflow === undefined ? "" : nameOf(workflow)}
        id={`${id}-input`}
        name="input"
        className="mono"
        rows={8}
        spellCheck={false}
        defaultValue={JSON.stringify(sampleOf(workflow?.inputSchema), null, 2)}
      />
      <label htmlFor={`${id}-labels`}>Labels</label>
      <input id={`${id}-labels`} name="labels" placeholder="team:payments env:live" autoComplete="off" />
    </Ask>
  );
}

const nameOf = ({ name, version }: { name: string; version: number }): string => `${name} v${version}`;

function textOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value.trim() : "";
}

/** @throws Error that says what of it cannot be read */
export function requestOf(
  { name, version }: { readonly name: string; readonly version: number },
  input: string,
  labels: string,
): wire.RunRequest {
  const words = labels === "" ? [] : labels.split(/\s+/);
  const odd = words.find((word) => !word.includes(":"));
  if (odd !== undefined) throw new Error(`“${odd}” is no label: write label:value, such as team:payments.`);
  return {
    workflow: name,
    version,
    ...(input === "" ? {} : { input: parsed(input) }),
    ...(words.length === 0 ? {} : { labels: labelsOf(words) }),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`The input is no JSON: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}
