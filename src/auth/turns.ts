import { AppError } from '../common/errors/app-error';

interface Line {
  /** attempts under way */
  busy: number;
  waiting: (() => void)[];
}

/** How many may be where. */
export interface TurnLimits {
  /** under way on all accounts together */
  busyMax: number;
  /** under way on one account */
  busyPerKeyMax: number;
  /** waiting for others on the same account, on all accounts together */
  waitingMax: number;
  patienceMs: number;
}

/**
 * Decides in this process who may try a password now. Whoever is too many is turned away before they cost a statement; several who are at the same account
 * take turns, since the limit per account lets only a few in at once, whoever they are.
 */
export class Turns {
  private readonly lines = new Map<string, Line>();
  private busy = 0;
  private waiting = 0;

  constructor(private readonly limits: TurnLimits) {}

  /** Whether as many are under way as may be, whoever they are. */
  get isFull(): boolean {
    return this.busy >= this.limits.busyMax;
  }

  /** Does the work when it is its turn. `deadline` is the end of its patience, on the clock of `performance.now()`. @throws service.overloaded */
  async take<T>(key: string, work: (deadline: number) => Promise<T>): Promise<T> {
    const deadline = performance.now() + this.limits.patienceMs;
    const line = this.lines.get(key) ?? { busy: 0, waiting: [] };
    this.lines.set(key, line);
    if (line.busy >= this.limits.busyPerKeyMax) await this.wait(line);
    else if (this.isFull) this.refuse(key, line);
    else {
      this.busy++;
      line.busy++;
    }
    try {
      return await work(deadline);
    } finally {
      this.pass(key, line);
    }
  }

  private async wait(line: Line): Promise<void> {
    if (this.waiting >= this.limits.waitingMax) throw new AppError('service.overloaded');
    this.waiting++;
    try {
      await new Promise<void>((resolve, reject) => {
        const admit = () => {
          clearTimeout(late);
          resolve();
        };
        const late = setTimeout(() => {
          line.waiting.splice(line.waiting.indexOf(admit), 1);
          reject(new AppError('service.overloaded'));
        }, this.limits.patienceMs);
        line.waiting.push(admit);
      });
    } finally {
      this.waiting--;
    }
  }

  /** The next one in the line takes over; else the place is free for anybody. */
  private pass(key: string, line: Line): void {
    const next = line.waiting.shift();
    if (next !== undefined) return next();
    this.busy--;
    line.busy--;
    if (line.busy === 0) this.lines.delete(key);
  }

  private refuse(key: string, line: Line): never {
    if (line.busy === 0) this.lines.delete(key);
    throw new AppError('service.overloaded');
  }
}
