import { Module } from '@nestjs/common';
import { CredentialsModule } from '../credentials/credentials.module';
import { EventsModule } from '../events/events.module';
import { JobsModule } from '../jobs/jobs.module';
import { RateLimitsModule } from '../rate-limits/rate-limits.module';
import { InvitationsRepository } from './invitations.repository';
import { MailsController } from './mails.controller';
import { MailsRepository } from './mails.repository';
import { MailsService } from './mails.service';
import { SecurityMailsService } from './security-mails.service';
import { UserMailsService } from './user-mails.service';

/** Enqueues the mails to users, and lists and retries those that are not sent yet. */
@Module({
  imports: [CredentialsModule, EventsModule, JobsModule, RateLimitsModule],
  controllers: [MailsController],
  providers: [InvitationsRepository, MailsRepository, MailsService, SecurityMailsService, UserMailsService],
  exports: [SecurityMailsService, UserMailsService],
})
export class UserMailsModule {}
