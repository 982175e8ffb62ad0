import { Injectable, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { runsJobs } from '../common/instance';
import { Notifications } from '../database/notifications.service';
import { JobsService } from '../jobs/jobs.service';
import { HashCostsRepository } from './hash-costs.repository';
import { costliestOf } from './hash-work';
import { RefusalBudget, withinBudget } from './refusal-budget';
import type { HashCost } from './stored-hash';

const recountJob = 'recount-password-hashes';

/**
 * Manages the costs of stored hashes of other systems, to which rejected logins are padded (L19).
 */
@Injectable()
export class HashCostsService implements OnModuleInit, OnApplicationBootstrap {
  private known: HashCost[] | null = null;
  /** Number of invalidations. A result that was read before one must not be cached after it. */
  private invalidations = 0;

  constructor(
    private readonly costs: HashCostsRepository,
    private readonly notifications: Notifications,
    private readonly jobs: JobsService,
  ) {
    const invalidate = () => {
      this.invalidations++;
      this.known = null;
    };
    notifications.on('password_hash_costs_changed', invalidate);
    notifications.onGap(invalidate);
  }

  onModuleInit(): void {
    this.jobs.every('11 4 * * *', recountJob, () => this.recount());
  }

  /** Recounts at start: an older version may have stored hashes without their costs. */
  async onApplicationBootstrap(): Promise<void> {
    if (runsJobs) await this.jobs.enqueue(recountJob, {}, recountJob);
  }

  /**
   * Returns the costs, from memory unless a change was notified or may have been missed (ADR 0010).
   */
  async current(): Promise<HashCost[]> {
    if (this.known !== null && this.notifications.isCurrent) return this.known;
    const { invalidations } = this;
    const costs = withinBudget(await this.costs.list());
    if (invalidations === this.invalidations) this.known = costs;
    return costs;
  }

  async budget(): Promise<RefusalBudget> {
    return new RefusalBudget(await this.costs.list());
  }

  /** Adds the costs of hashes that the current transaction stores. Call it last: it locks rows. */
  async add(hashes: string[]): Promise<void> {
    const costs = costliestOf(hashes);
    if (costs.length > 0) await this.costs.raise(costs);
  }

  /** Replaces the costs by the costs of the hashes in the database. */
  @Transactional()
  async recount(): Promise<void> {
    // Lock before counting: otherwise an import that commits in between would be missed.
    await this.costs.lock();
    await this.costs.replace(costliestOf(await this.costs.listForeign()));
  }
}
