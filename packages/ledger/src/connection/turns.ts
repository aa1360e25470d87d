/** So many at a time may hold a connection for long; the others wait for their turn, the first first. */
export class Turns {
  #free: number;
  readonly #waiting: ((taken: true) => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** False where none came within these milliseconds. Each that was taken is given back once. */
  async take(withinMs: number): Promise<boolean> {
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    return new Promise<boolean>((resolve) => {
      const taken = () => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(taken), 1);
        resolve(false);
      }, withinMs);
      this.#waiting.push(taken);
    });
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next(true);
  }
}
