import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { LoginAttemptsService } from '../credentials/login-attempts.service';
import { EventsService } from '../events/events.service';
import { IdempotencyService } from '../idempotency/idempotency.service';
import { OperationsService } from '../operations/operations.service';
import { userFieldsWith } from './user-fields';
import { UserMailsService } from '../user-mails/user-mails.service';
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
   * Removes a user, and the personal values in the audit log, the stored responses, and the filters
   * and skipped rows of operations. Requires a transaction.
   */
  async purge(actor: Actor, user_id: string): Promise<void> {
    const user = await this.users.findWithDeleted(user_id, actor);
    if (user === null) return;
    const localParts = [user.email, user.email_pending].map((address) => address?.split('@')[0] ?? null);
    const values = identifyingFields.map((field) => user[field]);
    await this.events.eraseUsers([user_id]);
    await this.idempotency.eraseUsers([user_id]);
    await this.operations.eraseValues(identifyingFields, [...values, ...localParts]);
    await this.operations.eraseRows([user_id, user.name, user.email, user.email_pending, user.phone]);
    await this.users.purge([user_id]);
    await this.attempts.remove([user_id]);
    // Queued mails contain addresses.
    await this.mails.cancelAll(user_id);
    await this.events.record(actor, 'user.purged', { type: 'user', id: user_id, carrier_id: user.carrier_id });
  }
}
