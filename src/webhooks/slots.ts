/** Limits the work that runs at the same time to a number of slots. */
export class Slots {
  private readonly waiting: (() => void)[] = [];

  constructor(private places: number) {}

  /** Number of free slots. */
  get free(): number {
    return Math.max(0, this.places);
  }

  /** Takes a slot. Call it only while a slot is free. */
  take(): void {
    this.places--;
  }

  /** Releases a slot. Work that waits takes it first. */
  give(): void {
    this.places++;
    this.waiting.shift()?.();
  }

  /** Runs work as soon as a slot is free. */
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
