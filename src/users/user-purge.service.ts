import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, systemActor } from '../access/actor';
import { LoginAttemptsService } from '../credentials/login-attempts.service';
import { type EventMonth, EventsService } from '../events/events.service';
import { IdempotencyService } from '../idempotency/idempotency.service';
import { OperationsService } from '../operations/operations.service';
import { userFieldsWith } from './user-fields';
import { UserMailsService } from '../user-mails/user-mails.service';
import type { UserRecord } from './users.dto';
import { UsersRepository } from './users.repository';

const identifyingFields = userFieldsWith('identifying');

/**
 * Removes users for good, with all personal values. Ids and event types stay for the audit (GDPR
 * article 17).
 */
@Injectable()
export class UserPurgeService {
  constructor(
    private readonly users: UsersRepository,
    private readonly events: EventsService,
    private readonly idempotency: IdempotencyService,
    private readonly operations: OperationsService,
    private readonly attempts: LoginAttemptsService,
    private readonly mails: UserMailsService,
  ) {}

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
   * Purges up to `max` users who were deleted at least `days` days ago, the oldest deletions first.
   * Returns their number, or null if there are none. Skips users that another transaction changes.
   */
  @Transactional()
  async purgeOld(days: number, max: number): Promise<number | null> {
    const user_ids = await this.users.lockDeleted(days, max);
    if (user_ids.length === 0) return null;
    await this.purge(systemActor, user_ids);
    return user_ids.length;
  }

  /**
   * Erases the first user who was deleted more than `days` days ago from the audit log, one month
   * per transaction. Little is left for the purge.
   */
  async eraseOldest(days: number): Promise<void> {
    for (const month of await this.events.listMonths()) await this.eraseMonth(days, month);
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
