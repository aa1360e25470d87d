/** Between two looks at who the parent is, in milliseconds. */
const LOOK_MS = 250;

/**
 * Calls `gone` once when this process has lost its parent. `npm start` puts a shell between npm and us that passes no
 * signal on: a `kill` of npm ends both of them and would leave us running.
 * @returns ends the watching
 */
export function watchParent(parentPid: () => number, gone: () => void): () => void {
  const parent = parentPid();
  const timer = setInterval(() => {
    if (parentPid() === parent) return;
    clearInterval(timer);
    gone();
  }, LOOK_MS);
  return () => clearInterval(timer);
}
