/**
 * Runs work, one run at a time. Calls during a run share the next run: the current run may have
 * started before the changes that they wait for. The work must not throw.
 */
export class SharedRuns {
  private current: Promise<void> | null = null;
  private next: Promise<void> | null = null;

  constructor(private readonly work: () => Promise<void>) {}

  /** Waits for a run that starts after this call. */
  run(): Promise<void> {
    if (this.current !== null) this.next ??= this.current.then(() => this.start());
    return this.next ?? this.start();
  }

  private start(): Promise<void> {
    this.next = null;
    this.current = this.work().finally(() => (this.current = null));
    return this.current;
  }
}
