/** Counts the runs that have ended, by the lines that workers write after the commit. */
export interface Endings {
  /** Told each line of the parts' log. */
  onLine(line: string): void;
  count(): number;
  /** Waits until so many have ended in all. @throws Error where one has not ended as DONE, or none has for too long */
  until(count: number): Promise<void>;
  /** The last lines of the log. */
  tail(): readonly string[];
}

/** Longest time without an ending, while some are awaited, in milliseconds. */
const PATIENCE_MS = 20_000;
const TAIL = 20;

export function countEndings(): Endings {
  const tail: string[] = [];
  let [count, wanted] = [0, Infinity];
  let failure: string | undefined;
  let wake = (): void => undefined;
  return {
    onLine: (line) => {
      tail.push(line);
      if (tail.length > TAIL) tail.shift();
      if (!line.includes('"message":"run settled"')) return;
      count += 1;
      if (!line.includes('"status":"DONE"')) failure ??= line;
      if (count >= wanted || failure !== undefined) wake();
    },
    count: () => count,
    until: async (goal) => {
      wanted = goal;
      while (count < goal) {
        const before = count;
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, PATIENCE_MS);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        if (failure !== undefined) throw new Error(`a run has not ended as DONE: ${failure}`);
        if (count === before) throw new Error(`${goal - count} runs have not ended`);
      }
      wanted = Infinity;
    },
    tail: () => tail,
  };
}
