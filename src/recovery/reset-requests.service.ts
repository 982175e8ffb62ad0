import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { systemActorFor } from '../access/actor';
import { EventsService } from '../events/events.service';
import { JobsService } from '../jobs/jobs.service';
import { UserMailsService } from '../user-mails/user-mails.service';
import { UserPasswordsService } from '../users/user-passwords.service';

/** Name of the job that handles a request to reset a password. */
export const resetJob = 'request-reset';

/** Handles requests to reset a password in the background, so that responses reveal no user. */
@Injectable()
export class ResetRequestsService implements OnModuleInit {
  constructor(
    private readonly jobs: JobsService,
    private readonly passwords: UserPasswordsService,
    private readonly mails: UserMailsService,
    private readonly events: EventsService,
  ) {}

  onModuleInit(): void {
    this.jobs.handle(resetJob, ({ email, ip, request_id }) =>
      this.requestReset(String(email), (ip ?? null) as string | null, (request_id ?? null) as string | null),
    );
  }

  /** Mails a reset link, or an invitation to an invited user. Skips disabled and unknown users. */
  @Transactional()
  private async requestReset(email: string, ip: string | null, request_id: string | null): Promise<void> {
    const user = email.includes('@') ? await this.passwords.findByLogin(email) : null;
    if (user === null || user.status === 'disabled') return;
    if (!(await this.mails.requestReset(user))) return;
    const actor = systemActorFor({ ip, request_id, user_agent: null });
    await this.events.record(actor, 'password.reset_requested', {
      type: 'user',
      id: user.user_id,
      carrier_id: user.carrier_id,
    });
  }
}
