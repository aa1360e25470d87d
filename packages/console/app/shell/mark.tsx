/** The mark of Ghouls. */
export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
      <path d="M6 29V14a10 10 0 0 1 20 0v15l-4-3-3 3-3-3-3 3-3-3z" />
      <circle cx="12.4" cy="14.5" r="2.3" />
      <circle cx="19.6" cy="14.5" r="2.3" />
    </svg>
  );
}
