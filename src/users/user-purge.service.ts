import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, systemActor } from '../access/actor';
import { LoginAttemptsService } from '../auth/passwords/login-attempts.service';
import { EventsService } from '../audit/events.service';
import type { EventMonth } from '../audit/events.repository';
import { IdempotencyService } from '../http/idempotency/idempotency.service';
import { CONFIG, type Config } from '../platform/config/config';
import { JobsService } from '../platform/jobs/jobs.service';
import { RetentionService } from '../platform/jobs/retention.service';
import { OperationsService } from './operations/operations.service';
import { userFieldsWith } from './user-fields';
import { UserMailsService } from './mails/user-mails.service';
import type { UserRecord } from './users.dto';
import { UsersRepository } from './users.repository';

/** Number of users that one short transaction purges. */
const batchMax = 100;
const identifyingFields = userFieldsWith('identifying');

/**
 * Removes users permanently, with all personal values. Ids and event types stay for the audit (GDPR
 * article 17). An hourly job purges users `DELETED_USER_DAYS` days after their deletion.
 */
@Injectable()
export class UserPurgeService implements OnModuleInit {
  constructor(
    private readonly users: UsersRepository,
    private readonly events: EventsService,
    private readonly idempotency: IdempotencyService,
    private readonly operations: OperationsService,
    private readonly attempts: LoginAttemptsService,
    private readonly mails: UserMailsService,
    private readonly jobs: JobsService,
    private readonly retention: RetentionService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  onModuleInit(): void {
    this.jobs.every('27 * * * *', 'purge-deleted-users', () => this.removeOld());
  }

  /**
   * Removes users, and their personal values in the audit log, the stored responses, and the
   * filters and skipped rows of operations. Requires a transaction.
   */
  async purge(actor: Actor, user_ids: string[]): Promise<void> {
    const users = await this.users.listByIds(user_ids, actor);
    if (users.length === 0) return;
    const found = users.map(({ user_id }) => user_id);
    await this.events.eraseUsers(found);
    await this.idempotency.eraseUsers(found);
    await this.operations.eraseValues(identifyingFields, users.flatMap(valuesOf));
    await this.operations.eraseRows(users.flatMap(identitiesOf));
    await this.users.purge(found);
    await this.attempts.remove(found);
    // Queued mails contain addresses.
    await this.mails.cancelAll(found);
    const targets = users.map(({ user_id, carrier_id }) => ({ id: user_id, carrier_id }));
    await this.events.recordMany(actor, 'user.purged', targets);
  }

  /**
   * Purges deleted users. Until then, they are listed and can be restored.
   * Erasing the events of active users may take longer than a statement may, and each attempt would
   * fail again. After a failed batch, purges one user at a time. If that fails too, first erases
   * the events of the user month by month, one month per transaction.
   */
  async removeOld(): Promise<void> {
    const { DELETED_USER_DAYS } = this.config;
    if (DELETED_USER_DAYS === 0) return;
    let max = batchMax;
    let isDivided = false;
    await this.retention.remove('users', async () => {
      try {
        const purged = await this.purgeOld(DELETED_USER_DAYS, max);
        isDivided = false;
        return purged;
      } catch (error) {
        if (isDivided) throw error;
        if (max === 1) {
          isDivided = true;
          for (const month of await this.events.listMonths()) await this.eraseMonth(DELETED_USER_DAYS, month);
        }
        max = 1;
        return 0;
      }
    });
  }

  /**
   * Purges up to `max` users who were deleted at least `days` days ago, the oldest deletions first.
   * Returns their number, or null if there are none. Skips users that another transaction changes.
   */
  @Transactional()
  private async purgeOld(days: number, max: number): Promise<number | null> {
    const user_ids = await this.users.lockDeleted(days, max);
    if (user_ids.length === 0) return null;
    await this.purge(systemActor, user_ids);
    return user_ids.length;
  }

  @Transactional()
  private async eraseMonth(days: number, month: EventMonth): Promise<void> {
    const user_ids = await this.users.lockDeleted(days, 1);
    if (user_ids.length > 0) await this.events.eraseUsers(user_ids, month);
  }
}

function valuesOf(user: UserRecord): (string | null)[] {
  const localParts = [user.email, user.email_pending].map((address) => address?.split('@')[0] ?? null);
  return [...identifyingFields.map((field) => user[field]), ...localParts];
}

function identitiesOf({ user_id, name, email, email_pending, phone }: UserRecord): (string | null)[] {
  return [user_id, name, email, email_pending, phone];
}
