import { Injectable } from '@nestjs/common';
import { monotonicMs } from '../platform/clock';
import { AppError } from '../http/errors/app-error';
import { Drain } from '../http/drain';
import { version } from '../platform/project';
import { within } from '../platform/within';
import { Notifications } from '../platform/database/notifications.service';
import type { HealthResponse, ReadinessResponse } from './health.dto';
import { HealthRepository } from './health.repository';

const timeoutMs = 3_000;
/** Maximum age of the number of overdue jobs: many delayed jobs must not slow checks down. */
const countEveryMs = 10_000;

/** Checks the process and the database. */
@Injectable()
export class HealthService {
  private overdue_jobs = 0;
  private countDueAt = 0;

  constructor(
    private readonly repository: HealthRepository,
    private readonly drain: Drain,
    private readonly notifications: Notifications,
  ) {}

  live(): HealthResponse {
    return { status: 'ok', version };
  }

  /**
   * Checks that the service is not stopping and that the database responds within 3 s and
   * acknowledges commits.
   * @throws service.stopping, service.database_unavailable
   */
  async ready(): Promise<ReadinessResponse> {
    if (this.drain.isStopping) throw new AppError('service.stopping');
    const unavailable = () => Promise.reject(new AppError('service.database_unavailable'));
    const checks = Promise.all([this.checkDatabase(), this.notifications.assertLease()]);
    await within(timeoutMs, checks, unavailable).catch(unavailable);
    const { overdue_jobs } = this;
    return { status: 'ok', version, ...(overdue_jobs > 0 && { overdue_jobs }) };
  }

  /** Waits for a response of the database, and counts the overdue jobs if that is due. */
  private async checkDatabase(): Promise<void> {
    if (monotonicMs() < this.countDueAt) return this.repository.ping();
    this.countDueAt = monotonicMs() + countEveryMs;
    this.overdue_jobs = await this.repository.countOverdueJobs();
  }
}
