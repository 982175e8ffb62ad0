import { Module } from '@nestjs/common';
import { CredentialsModule } from '../credentials/credentials.module';
import { JobsModule } from '../jobs/jobs.module';
import { RateLimitsModule } from '../rate-limits/rate-limits.module';
import { UserMailsService } from './user-mails.service';

/** Enqueues the mails to users. */
@Module({
  imports: [CredentialsModule, JobsModule, RateLimitsModule],
  providers: [UserMailsService],
  exports: [UserMailsService],
})
export class UserMailsModule {}
