/**
 * Turns single calls into group calls without a timer: what arrives while a group is under way leaves together with the
 * next one. An idle caller waits for nobody.
 */
export function grouped<Item, Answer>(
  limit: number,
  send: (items: readonly Item[]) => Promise<readonly Answer[]>,
): (item: Item) => Promise<Answer> {
  interface Waiting {
    readonly item: Item;
    readonly resolve: (answer: Answer) => void;
    readonly reject: (reason: unknown) => void;
  }
  let waiting: Waiting[] = [];
  let underWay = false;

  const drain = async (): Promise<void> => {
    underWay = true;
    while (waiting.length > 0) {
      const group = waiting.slice(0, limit);
      waiting = waiting.slice(limit);
      try {
        const answers = await send(group.map((one) => one.item));
        group.forEach((one, index) => one.resolve(answers[index] as Answer));
      } catch (error) {
        for (const one of group) one.reject(error);
      }
    }
    underWay = false;
  };

  return (item) =>
    new Promise<Answer>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      // The group leaves in a microtask of its own, so that calls of one turn travel together.
      if (!underWay) {
        underWay = true;
        queueMicrotask(() => void drain());
      }
    });
}
