import { Injectable } from '@nestjs/common';
import { AppError } from '../common/errors/app-error';
import { Drain } from '../common/http/drain';
import { version } from '../common/project';
import type { HealthResponse } from './health.dto';
import { HealthRepository } from './health.repository';

const timeoutMs = 3_000;

/** Checks the process and the database. */
@Injectable()
export class HealthService {
  constructor(
    private readonly repository: HealthRepository,
    private readonly drain: Drain,
  ) {}

  /** Returns `ok` whenever the process is running. */
  live(): HealthResponse {
    return { status: 'ok', version };
  }

  /**
   * Checks that the service is not stopping and that the database responds within 3 s.
   * @throws service.stopping, service.database_unavailable
   */
  async ready(): Promise<HealthResponse> {
    if (this.drain.isStopping) throw new AppError('service.stopping');
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new AppError('service.database_unavailable')), timeoutMs);
    });
    try {
      await Promise.race([this.repository.ping(), late]);
      return { status: 'ok', version };
    } catch {
      throw new AppError('service.database_unavailable');
    } finally {
      clearTimeout(timer);
    }
  }
}
