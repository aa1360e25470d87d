/** What a call of a lost worker meets: nothing of it reaches ledger or queue any more. */
class WorkerLostError extends Error {
  constructor() {
    super("this worker was lost by its test");
    this.name = "WorkerLostError";
  }
}

/** Joins one worker to ledger and queue, until it is cut. */
export class Lifeline {
  #isCut = false;

  get isCut(): boolean {
    return this.#isCut;
  }

  cut(): void {
    this.#isCut = true;
  }

  /** The same object, as long as the line holds. What was sent before the cut arrives; its answer does not. */
  through<T extends object>(target: T): T {
    return new Proxy(target, {
      get: (object, key) => {
        const value: unknown = Reflect.get(object, key, object);
        if (typeof value === "function") {
          return (...args: unknown[]) => this.#call(() => Reflect.apply(value, object, args));
        }
        return typeof value === "object" && value !== null ? this.through(value) : value;
      },
    });
  }

  async #call(send: () => unknown): Promise<unknown> {
    if (this.#isCut) throw new WorkerLostError();
    const answer = await send();
    if (this.#isCut) throw new WorkerLostError();
    return answer;
  }
}
