import { useState, type ReactNode } from "react";
import { Copy } from "./copy.tsx";
import { Shown } from "./shown.tsx";

/** Members that a node shows before it is asked for more. */
const FIRST = 100;
/** Characters of a text before it is asked for the rest. */
const LONG = 600;

/** A JSON value as a tree that folds. */
export function Tree({ value, name, open = 2 }: { value: unknown; name: string; open?: number }) {
  return (
    <div className="tree" role="group" aria-label={name}>
      <div className="tree-copy">
        <Copy text={JSON.stringify(value, null, 2) ?? ""} what={name} />
      </div>
      <Node value={value} depth={0} open={open} label={null} />
    </div>
  );
}

interface NodeProps {
  readonly value: unknown;
  readonly depth: number;
  /** Levels that are unfolded at first. */
  readonly open: number;
  readonly label: ReactNode;
}

function Node({ value, depth, open, label }: NodeProps) {
  const [isOpen, setOpen] = useState(depth < open);
  if (typeof value !== "object" || value === null) {
    return (
      <div className="tree-leaf">
        {label}
        <Leaf value={value} />
      </div>
    );
  }
  const isList = Array.isArray(value);
  const members: [string, unknown][] = isList
    ? value.map((each, index) => [String(index), each])
    : Object.entries(value);
  const sum = isList ? `[ ${members.length} ]` : `{ ${members.length} }`;
  if (members.length === 0) {
    return (
      <div className="tree-leaf">
        {label}
        <span className="tree-sum">{isList ? "[ ]" : "{ }"}</span>
      </div>
    );
  }
  return (
    <details className="tree-node" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {label}
        <span className="tree-sum">{sum}</span>
      </summary>
      {isOpen && <Members members={members} depth={depth} open={open} />}
    </details>
  );
}

function Members({ members, depth, open }: { members: [string, unknown][]; depth: number; open: number }) {
  const [shown, setShown] = useState(FIRST);
  return (
    <div className="tree-members">
      {members.slice(0, shown).map(([key, value]) => (
        <Node
          key={key}
          value={value}
          depth={depth + 1}
          open={open}
          label={
            <span className="tree-key">
              <Shown text={key} />
            </span>
          }
        />
      ))}
      {members.length > shown && (
        <button type="button" className="plain small" onClick={() => setShown(shown + FIRST * 10)}>
          {members.length - shown} more
        </button>
      )}
    </div>
  );
}

function Leaf({ value }: { value: unknown }) {
  const [whole, setWhole] = useState(false);
  if (typeof value !== "string") return <span className="tree-word">{String(value)}</span>;
  const text = whole || value.length <= LONG ? value : value.slice(0, LONG);
  return (
    <span className="tree-text">
      <Shown text={text} />
      {text !== value && (
        <button type="button" className="plain small" onClick={() => setWhole(true)}>
          {value.length - LONG} more characters
        </button>
      )}
    </span>
  );
}
