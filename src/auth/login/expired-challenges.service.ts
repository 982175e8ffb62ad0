import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { JobsService } from '../../platform/jobs/jobs.service';
import { SecurityMailsService } from '../../users/mails/security-mails.service';
import { LoginChallengesRepository } from './login-challenges.repository';

const batchMax = 1_000;

/**
 * Deletes the challenges that expired before a second step followed, and notifies their users:
 * someone else may know the password.
 */
@Injectable()
export class ExpiredChallengesService implements OnModuleInit {
  constructor(
    private readonly challenges: LoginChallengesRepository,
    private readonly mails: SecurityMailsService,
    private readonly jobs: JobsService,
  ) {}

  onModuleInit(): void {
    this.jobs.every('* * * * *', 'expire-login-challenges', () => this.expireAll());
  }

  /** Deletes expired challenges in batches. May be killed at any time; the next run continues. */
  async expireAll(): Promise<void> {
    while ((await this.expire()) === batchMax);
  }

  /** Deletes a batch together with enqueuing its mails. Returns the number of challenges. */
  @Transactional()
  private async expire(): Promise<number> {
    const expired = await this.challenges.takeExpired(batchMax);
    // A user who restarted the login, in another tab for example, needs no warning.
    await this.mails.secondStepsMissing(expired.filter(({ logged_in }) => !logged_in));
    return expired.length;
  }
}
