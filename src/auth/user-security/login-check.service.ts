import { Injectable } from '@nestjs/common';
import type { Actor } from '../../access/actor';
import { holds } from '../../access/permissions';
import { AppError } from '../../http/errors/app-error';
import { MailsService } from '../../users/mails/mails.service';
import { LoginAttemptsService } from '../passwords/login-attempts.service';
import { causesOf } from './login-causes';
import type { LoginCheckResponse, LoginRefusalResponse } from './login-check.dto';
import { LoginCheckRepository, type LoginEvent } from './login-check.repository';

/** Explains why users cannot log in, from the facts that decide about their logins. */
@Injectable()
export class LoginCheckService {
  constructor(
    private readonly repository: LoginCheckRepository,
    private readonly attempts: LoginAttemptsService,
    private readonly mails: MailsService,
  ) {}

  /** Returns whether a user can log in, and why not. @throws user.not_found outside the scope */
  async check(actor: Actor, user_id: string): Promise<LoginCheckResponse> {
    const may = (permission: string) => holds(actor.permissions, permission);
    const user = await this.repository.find(user_id, actor, may('user:read_deleted'));
    if (user === null) throw new AppError('user.not_found');
    const locks = await this.attempts.listLocks(user_id);
    const events = await this.repository.listEvents(user_id, actor);
    const lastRefusal = events.find(({ kind }) => kind === 'refused');
    const block = await this.repository.findBlock(user_id, lastRefusal?.ip ?? null);
    // The same callers as of `GET /address-block/list`.
    const showsBlock = may('address_block:manage') && actor.user_type === 'system' && actor.carrier_scope === null;
    const causes = causesOf({ user, locks, events, block, showsBlock });
    return {
      can_log_in: causes.every(({ blocks }) => !blocks),
      causes,
      ...(may('mail:manage') && { mails: await this.mails.listOf(user_id) }),
      ...(may('audit:read') && { recent_refusals: refusalsOf(events) }),
    };
  }
}

function refusalsOf(events: LoginEvent[]): LoginRefusalResponse[] {
  return events
    .filter(({ kind }) => kind === 'refused')
    .map(({ event_type, occurred_at, reason, ip }) => {
      const usual = event_type === 'login.failed' ? 'auth.invalid_credentials' : 'auth.invalid_second_factor';
      return { occurred_at, reason: reason ?? usual, ip };
    });
}
