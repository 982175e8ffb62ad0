import { costliestOf } from './hash-work';
import type { HashCost } from './stored-hash';

/**
 * Milliseconds of one core that the padding of a rejected login may take.
 * Without a limit, a file of twelve users with costly hashes of different kinds made each rejected
 * login take 6 s, and blocked the hash queue for all users (L21).
 */
const budgetMs = 1_000;
/**
 * Milliseconds per unit of cost, measured on one core of 2.6 GHz: bcrypt 12 takes 225 ms, PBKDF2
 * with 600,000 iterations 180 ms.
 */
const bcryptUnitMs = 0.055;
const otherUnitMs = 0.000_3;

/** Decides which further hashes of other systems can be stored. */
export class RefusalBudget {
  private readonly costs: Map<string, number>;

  constructor(costs: readonly HashCost[]) {
    this.costs = new Map(costs.map(({ computation, cost }) => [computation, cost]));
  }

  /**
   * Adds the cost of a hash and returns true if rejected logins stay within the budget. Otherwise
   * returns false.
   */
  admits(passwordHash: string): boolean {
    for (const { computation, cost } of costliestOf([passwordHash])) {
      const before = this.costs.get(computation) ?? 0;
      if (cost <= before) return true;
      if (this.totalMs() + estimateMs({ computation, cost: cost - before }) > budgetMs) return false;
      this.costs.set(computation, cost);
    }
    return true;
  }

  private totalMs(): number {
    return [...this.costs].reduce((sum, [computation, cost]) => sum + estimateMs({ computation, cost }), 0);
  }
}

/**
 * Returns the costs that fit into the budget, the costliest first. Imports stay within the budget,
 * so the limit matters only for hashes from other sources.
 */
export function withinBudget(costs: readonly HashCost[]): HashCost[] {
  let leftMs = budgetMs;
  return [...costs]
    .sort((one, other) => estimateMs(other) - estimateMs(one))
    .filter((cost) => {
      const fits = estimateMs(cost) <= leftMs;
      if (fits) leftMs -= estimateMs(cost);
      return fits;
    });
}

function estimateMs({ computation, cost }: HashCost): number {
  return cost * (computation === 'bcrypt' ? bcryptUnitMs : otherUnitMs);
}
