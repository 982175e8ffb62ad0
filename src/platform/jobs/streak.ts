/** Measures for how long a repeated action has succeeded without a gap. */
export class Streak {
  private since = 0;
  private last = -Infinity;

  /** @param gapMs time between two successes that ends the streak */
  constructor(private readonly gapMs: number) {}

  /** Records a success at a monotonic time, and returns the length of the streak in ms. */
  extend(at: number): number {
    if (at - this.last > this.gapMs) this.since = at;
    this.last = at;
    return at - this.since;
  }
}
