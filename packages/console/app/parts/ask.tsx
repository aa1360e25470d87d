import { useMutation } from "@tanstack/react-query";
import { useEffect, useId, useRef, type ReactNode, type SubmitEvent } from "react";
import { ProblemNote } from "./problem.tsx";

interface AskProps {
  /** What will be done, as a title: "Cancel this run". */
  readonly title: string;
  /** What follows from it. */
  readonly children?: ReactNode;
  /** On the button that does it. */
  readonly verb: string;
  readonly danger?: boolean;
  /** Label of the reason; where absent none is asked for. */
  readonly reason?: string;
  readonly reasonOptional?: boolean;
  /** Does it. What it rejects with is shown, and the dialog stays with what was written. */
  readonly act: (reason: string, form: FormData) => Promise<unknown>;
  readonly onClose: () => void;
}

/** Asks before something is done that is kept, with the reason that is kept with it. A native dialog: Radix' writes a style element, which the policy refuses. */
export function Ask({ title, children, verb, danger, reason, reasonOptional, act, onClose }: AskProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const doing = useMutation({
    mutationFn: (form: FormData) => {
      const text = form.get("reason");
      return act(typeof text === "string" ? text.trim() : "", form);
    },
    onSuccess: () => dialog.current?.close(),
  });
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    doing.mutate(new FormData(event.currentTarget));
  };
  return (
    <dialog ref={dialog} className="ask" aria-labelledby={`${id}-title`} onClose={onClose}>
      <form onSubmit={submit}>
        <h2 id={`${id}-title`}>{title}</h2>
        {children}
        {reason !== undefined && (
          <>
            <label htmlFor={`${id}-reason`}>{reason}</label>
            <textarea
              id={`${id}-reason`}
              name="reason"
              required={reasonOptional !== true}
              maxLength={1_000}
              rows={3}
              autoFocus
            />
          </>
        )}
        <ProblemNote error={doing.error} />
        <p className="actions">
          <button type="button" onClick={() => dialog.current?.close()}>
            Leave it
          </button>
          <button type="submit" className={danger === true ? "danger" : "primary"} disabled={doing.isPending}>
            {doing.isPending ? "…" : verb}
          </button>
        </p>
      </form>
    </dialog>
  );
}
