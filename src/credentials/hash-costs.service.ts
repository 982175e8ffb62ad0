import { Injectable, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { Notifications } from '../database/notifications.service';
import { JobsService } from '../jobs/jobs.service';
import { HashCostsRepository } from './hash-costs.repository';
import { costliestOf } from './hash-work';
import type { HashCost } from './stored-hash';

const recountJob = 'recount-password-hashes';

/** Keeps the costs of stored hashes of other systems: refused logins are padded to these (L19). */
@Injectable()
export class HashCostsService implements OnModuleInit, OnApplicationBootstrap {
  private known: HashCost[] | null = null;
  /** Counts what may have changed the costs: what was read before is not kept after. */
  private changes = 0;

  constructor(
    private readonly costs: HashCostsRepository,
    private readonly notifications: Notifications,
    private readonly jobs: JobsService,
  ) {
    const forget = () => {
      this.changes++;
      this.known = null;
    };
    notifications.on('password_hash_costs_changed', forget);
    notifications.onGap(forget);
  }

  onModuleInit(): void {
    this.jobs.every('11 4 * * *', recountJob, () => this.recount());
  }

  /** Counts at start: an upgrade may find hashes that were stored before their costs were kept. */
  async onApplicationBootstrap(): Promise<void> {
    await this.jobs.enqueue(recountJob, {}, recountJob);
  }

  /** Returns the costs in use, from memory while the database has told of no change (ADR 0010). */
  async current(): Promise<HashCost[]> {
    if (this.known !== null && this.notifications.isCurrent) return this.known;
    const { changes } = this;
    const costs = await this.costs.list();
    if (changes === this.changes) this.known = costs;
    return costs;
  }

  /** Adds hashes that are stored in the current transaction. Call it last: it locks the costs. */
  async add(hashes: string[]): Promise<void> {
    const costs = costliestOf(hashes);
    if (costs.length > 0) await this.costs.raise(costs);
  }

  /** Replaces the costs by those of the hashes that are stored at this moment. */
  @Transactional()
  async recount(): Promise<void> {
    // Lock before counting: an import that commits in between would be overlooked.
    await this.costs.lock();
    await this.costs.replace(costliestOf(await this.costs.listForeign()));
  }
}
