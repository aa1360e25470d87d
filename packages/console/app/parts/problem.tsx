import { ProblemError, UnreachableError } from "@ghouls/client";

/** What went wrong and what to do: of a problem its title, detail, fix and the id under which the server's log has it. */
export function ProblemNote({ error }: { error: unknown }) {
  if (error === null || error === undefined) return null;
  const { title, detail, fix, requestId } = told(error);
  return (
    <div className="problem" role="alert">
      <strong>{title}</strong>
      {detail !== "" && <p>{detail}</p>}
      {fix !== undefined && <p className="quiet">{fix}</p>}
      {requestId !== undefined && (
        <p className="quiet small">
          Request <code>{requestId}</code>
        </p>
      )}
    </div>
  );
}

function told(error: unknown): {
  title: string;
  detail: string;
  fix: string | undefined;
  requestId: string | undefined;
} {
  if (error instanceof ProblemError) {
    const { title, detail, fix, requestId, errors } = error;
    const members = errors.map(({ path, message }) => `${path} ${message}`).join("; ");
    return { title, detail: members === "" ? detail : `${detail} ${members}`, fix, requestId };
  }
  if (error instanceof UnreachableError) {
    return {
      title: "The API does not answer",
      detail: "What was asked for may have been done: look before you ask again.",
      fix: undefined,
      requestId: undefined,
    };
  }
  // What the console itself refuses to send is an Error with a sentence; anything else is a fault of it.
  if (error instanceof Error && error.name === "Error") {
    return { title: "That cannot be sent", detail: error.message, fix: undefined, requestId: undefined };
  }
  return {
    title: "The console has failed",
    detail: error instanceof Error ? error.message : String(error),
    fix: "Load the page again.",
    requestId: undefined,
  };
}
