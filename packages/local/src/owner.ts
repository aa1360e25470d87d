/** Something that was started and has to be ended. */
interface Part {
  /** Ends it in order. */
  stop(): Promise<void>;
  /** Ends it at once. */
  kill(): void;
}

/** Has what was started, and ends it in the opposite order. */
export interface Owner {
  /** Calls `end` when its turn comes; what was handed over later ends earlier. */
  defer(end: () => Promise<void> | void): void;
  /** Waits until a part has started, and has it from then on. */
  own<T extends Part>(starting: Promise<T>): Promise<T>;
  /** An owner that ends as one thing of this one: what it gets later keeps this place in the order. */
  place(): Owner;
  /** Ends all in order. What fails to end keeps nothing else from ending; its error is thrown at the end. */
  end(): Promise<void>;
  /** Ends the parts at once; `end` has still to be waited for. */
  kill(): void;
}

export function createOwner(): Owner {
  return ownerOver(new AsyncDisposableStack(), []);
}

function ownerOver(stack: AsyncDisposableStack, parts: Part[]): Owner {
  return {
    defer: (end) => stack.defer(end),
    own: async (starting) => {
      const part = await starting;
      stack.defer(() => part.stop());
      parts.push(part);
      return part;
    },
    place: () => ownerOver(stack.use(new AsyncDisposableStack()), parts),
    end: () => stack.disposeAsync(),
    kill: () => {
      for (const part of parts) part.kill();
    },
  };
}

/** Waits for all of them, so that what has started has its owner, and rejects with the first failure. */
export async function allOrNothing<const T extends readonly Promise<unknown>[]>(
  promises: T,
): Promise<{ -readonly [I in keyof T]: Awaited<T[I]> }> {
  await Promise.allSettled(promises);
  return (await Promise.all(promises)) as { -readonly [I in keyof T]: Awaited<T[I]> };
}
