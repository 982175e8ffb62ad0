import { statfs } from 'node:fs/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { holds } from '../access/permissions';
import { monotonicMs } from '../platform/clock';
import { CONFIG, type Config } from '../platform/config/config';
import type { DiskHealthResponse, HealthState, ServiceHealthResponse } from './service-health.dto';
import { ServiceHealthRepository } from './service-health.repository';

/** The figures read all mails, so they are reused as long as those of the overview. */
const maxAgeMs = 60_000;
/** Age from which an unsent change makes a webhook late. */
const lateSeconds = 600;
const [mebibyte, gibibyte] = [2 ** 20, 2 ** 30];

/** The state of all parts, before the permissions of the caller apply. */
type AllHealth = ServiceHealthResponse & Required<Pick<ServiceHealthResponse, 'mail' | 'webhooks'>>;

/** Measures whether mail, jobs, webhooks, the database and the disk work. */
@Injectable()
export class ServiceHealthService {
  private latest!: Promise<AllHealth>;
  private dueAt = 0;
  private countedAt = '';

  constructor(
    private readonly health: ServiceHealthRepository,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Returns the state of the service, or undefined for actors with a scope. Measures again after
   * each count of the overview, so that both agree about mails.
   * @param countedAt time of the counts of the overview
   */
  async get(actor: Actor, countedAt: string): Promise<ServiceHealthResponse | undefined> {
    if (actor.user_type !== 'system' || actor.carrier_scope !== null) return undefined;
    const isCurrent = countedAt === this.countedAt && monotonicMs() < this.dueAt;
    this.countedAt = countedAt;
    const { mail, webhooks, ...rest } = await (isCurrent ? this.latest : this.measure());
    return {
      ...rest,
      ...(holds(actor.permissions, 'mail:manage') && { mail }),
      ...(holds(actor.permissions, 'webhook:manage') && { webhooks }),
    };
  }

  /** Measures now. Concurrent callers of `get` share the result. */
  measure(): Promise<AllHealth> {
    this.dueAt = monotonicMs() + maxAgeMs;
    this.latest = this.read();
    this.latest.catch(() => (this.dueAt = 0));
    return this.latest;
  }

  private async read(): Promise<AllHealth> {
    const { mail, jobs, webhooks, database } = await this.health.read();
    const { unusable, ...mails } = mail;
    const used = database.connections / database.connections_max;
    return {
      mail: { state: stateOf(unusable > 0, mails.failing + mails.failed > 0), ...mails },
      jobs: { state: stateOf(jobs.overdue > 0, jobs.failed > 0), ...jobs },
      webhooks: {
        state: stateOf(webhooks.disabled > 0, webhooks.failing > 0 || webhooks.behind_seconds > lateSeconds),
        ...webhooks,
      },
      database: { state: stateOf(used >= 0.95, used >= 0.8), ...database },
      ...(this.config.embedded && { disk: await this.readDisk() }),
    };
  }

  private async readDisk(): Promise<DiskHealthResponse> {
    const { bavail, blocks, bsize } = await statfs(this.config.DATA_DIR);
    return diskHealth(bavail * bsize, blocks * bsize);
  }
}

/** Returns the state of a disk by its free space. */
export function diskHealth(free_bytes: number, total_bytes: number): DiskHealthResponse {
  const below = (part: number, bytes: number) => free_bytes < total_bytes * part || free_bytes < bytes;
  return { state: stateOf(below(0.02, 256 * mebibyte), below(0.1, gibibyte)), free_bytes, total_bytes };
}

function stateOf(isCritical: boolean, isWarning: boolean): HealthState {
  if (isCritical) return 'critical';
  return isWarning ? 'warning' : 'ok';
}
