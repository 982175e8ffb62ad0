import { Injectable } from '@nestjs/common';
import type { Actor } from '../access/actor';
import { LoginAttemptsService } from '../credentials/login-attempts.service';
import { EventsService } from '../events/events.service';
import { IdempotencyService } from '../idempotency/idempotency.service';
import { OperationsService } from '../operations/operations.service';
import { UserMailsService } from './user-mails.service';
import { UsersRepository } from './users.repository';

/**
 * Removing a user for good, together with what tells who they were. Ids and event types stay (GDPR
 * article 17; audit).
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
   * Takes a person's values out of the audit log, the kept answers and the filters of operations,
   * then removes them. To be called within a transaction.
   */
  async purge(actor: Actor, user_id: string): Promise<void> {
    const user = await this.users.findWithDeleted(user_id, actor);
    if (user === null) return;
    const { name, email, email_pending, phone, first_name, last_name, carrier_id } = user;
    const beforeAt = [email, email_pending].map((address) => address?.split('@')[0] ?? null);
    await this.events.eraseUsers([user_id]);
    await this.idempotency.eraseUsers([user_id]);
    await this.operations.eraseValues([name, email, email_pending, ...beforeAt, phone, first_name, last_name]);
    await this.users.purge([user_id]);
    await this.attempts.remove([user_id]);
    // A queued invitation contains the address.
    await this.mails.cancelLinks(user_id);
    await this.events.record(actor, 'user.purged', { type: 'user', id: user_id, carrier_id });
  }
}
