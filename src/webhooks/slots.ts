/** A number of places, for work that runs at the same time. */
export class Slots {
  private readonly waiting: (() => void)[] = [];

  constructor(private places: number) {}

  /** Number of free places. */
  get free(): number {
    return Math.max(0, this.places);
  }

  /** Takes a place. Call it only while one is free. */
  take(): void {
    this.places--;
  }

  /** Gives a place back, to work that waits for it first. */
  give(): void {
    this.places++;
    this.waiting.shift()?.();
  }

  /** Runs work as soon as a place is free. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    while (this.places <= 0) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.take();
    try {
      return await work();
    } finally {
      this.give();
    }
  }
}
