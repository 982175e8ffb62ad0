import { Module } from '@nestjs/common';
import { CredentialsModule } from '../../auth/passwords/credentials.module';
import { EventsModule } from '../../audit/events.module';
import { JobsModule } from '../../platform/jobs/jobs.module';
import { RateLimitsModule } from '../../access/rate-limits/rate-limits.module';
import { MailsController } from './mails.controller';
import { MailsRepository } from './mails.repository';
import { MailsService } from './mails.service';
import { SecurityMailsService } from './security-mails.service';
import { UserMailsService } from './user-mails.service';

/** Enqueues the mails to users, and lists and retries those that are not sent yet. */
@Module({
  imports: [CredentialsModule, EventsModule, JobsModule, RateLimitsModule],
  controllers: [MailsController],
  providers: [MailsRepository, MailsService, SecurityMailsService, UserMailsService],
  exports: [MailsService, SecurityMailsService, UserMailsService],
})
export class UserMailsModule {}
