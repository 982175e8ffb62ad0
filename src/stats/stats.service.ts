import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import type { Actor } from '../access/actor';
import { holds } from '../access/permissions';
import type { Answered } from '../platform/times';
import { JobsService } from '../platform/jobs/jobs.service';
import { operationReader } from '../users/operations/operations.service';
import { AttacksService } from './attacks.service';
import { ServiceHealthService } from './service-health.service';
import { type CountAge, type LoginCount, type OverviewCount, StatsRepository } from './stats.repository';
import type { AttentionResponse, OverviewResponse, UserCountResponse } from './stats.dto';

/** The response as the database returns it: times are texts. */
export type Overview = Answered<Omit<OverviewResponse, 'logins'>> & { logins: LoginCount[] };

/** An API key that expires within this number of days needs attention. */
const keyExpiryDays = 14;

/**
 * Counts the figures of the overview in a job. Counting a million users in each request would take
 * too long, and counters that each write maintains would slow down all writes. The job counts every
 * minute, or every two minutes at a million users (1 s of CPU time).
 */
@Injectable()
export class StatsService implements OnModuleInit {
  constructor(
    private readonly stats: StatsRepository,
    private readonly jobs: JobsService,
    private readonly attacks: AttacksService,
    private readonly health: ServiceHealthService,
  ) {}

  onModuleInit(): void {
    this.jobs.every('* * * * *', 'refresh-overview', () => this.refresh());
  }

  /**
   * Returns the figures within the actor's scope. A System User with a carrier scope gets the
   * figures of the users of these carriers.
   */
  async get(actor: Actor): Promise<Overview> {
    const age = (await this.stats.findAge(actor)) ?? (await this.refreshFirst());
    const counts = await this.stats.listCounts(actor);
    const logins = await this.stats.listLogins(actor);
    const operations_running = await this.stats.countRunning(operationReader(actor));
    const attention = await this.attention(actor, counts, age.as_of);
    return {
      ...age,
      users: usersOf(counts),
      sessions: sumOf(counts, 'sessions'),
      logins,
      operations_running,
      attention,
      health: await this.health.get(actor, age.as_of),
    };
  }

  /**
   * Counts again if a refresh is due. Concurrent calls wait for each other. An interrupted or
   * repeated call leaves correct counts.
   */
  @Transactional()
  async refresh(): Promise<void> {
    await this.stats.lock();
    if (!(await this.stats.isDue())) return;
    await this.stats.refreshCounts();
    await this.stats.refreshLogins();
    await this.stats.noteRefresh();
  }

  /** Counts before the first run of the job. */
  private async refreshFirst(): Promise<CountAge> {
    await this.refresh();
    return (await this.stats.findAge(null)) ?? { as_of: '', age_seconds: 0 };
  }

  private async attention(actor: Actor, counts: OverviewCount[], as_of: string): Promise<AttentionResponse[]> {
    const locked = { locked_until_gt: as_of };
    const mustEnroll = { status: 'active', must_enroll_second_factor: 'true' };
    const items: AttentionResponse[] = [
      { kind: 'users_locked', count: sumOf(counts, 'locked'), list: '/user/list', filter: locked },
      { kind: 'users_must_enroll', count: sumOf(counts, 'must_enroll'), list: '/user/list', filter: mustEnroll },
    ];
    if (holds(actor.permissions, 'key:manage')) {
      const { count, until } = await this.stats.countExpiringKeys(actor, keyExpiryDays);
      const filter = { active: 'true', expires_at_lte: until };
      items.push({ kind: 'api_keys_expiring', count, list: '/auth/key/list', filter });
    }
    if (holds(actor.permissions, 'mail:manage')) {
      const failing = { failing: 'true', state_ne: 'failed' };
      items.push(
        { kind: 'mails_failed', count: sumOf(counts, 'mails_failed'), list: '/mail/list', filter: { state: 'failed' } },
        { kind: 'mails_failing', count: sumOf(counts, 'mails_failing'), list: '/mail/list', filter: failing },
      );
    }
    if (holds(actor.permissions, 'webhook:manage')) {
      const { disabled, failing } = await this.stats.countWebhooks(actor);
      const disabledByService = { state: 'disabled', disabled_reason_ne: 'requested' };
      items.push(
        { kind: 'webhooks_disabled', count: disabled, list: '/webhook/list', filter: disabledByService },
        { kind: 'webhooks_failing', count: failing, list: '/webhook/list', filter: { state: 'failing' } },
      );
    }
    if (holds(actor.permissions, 'audit:read'))
      items.push({ kind: 'attack', count: await this.attacks.countUnusual(actor), list: '/stats/attacks', filter: {} });
    return items;
  }
}

function sumOf(counts: OverviewCount[], kind: OverviewCount['kind']): number {
  return counts.filter((row) => row.kind === kind).reduce((sum, { count }) => sum + count, 0);
}

/** Returns the number of users for each type and status that the counts contain. */
function usersOf(counts: OverviewCount[]): UserCountResponse[] {
  return (['system', 'carrier'] as const).flatMap((user_type) =>
    (['invited', 'active', 'disabled'] as const).flatMap((status) =>
      counts
        .filter((row) => row.user_type === user_type && row.kind === status)
        .map(({ count }) => ({ user_type, status, count })),
    ),
  );
}
