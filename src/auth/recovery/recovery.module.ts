import { Module } from '@nestjs/common';
import { ApiKeysModule } from '../../access/api-keys/api-keys.module';
import { AuthModule } from '../auth.module';
import { CredentialsModule } from '../passwords/credentials.module';
import { EventsModule } from '../../audit/events.module';
import { JobsModule } from '../../platform/jobs/jobs.module';
import { MailModule } from '../../platform/mail/mail.module';
import { RateLimitsModule } from '../../access/rate-limits/rate-limits.module';
import { UserMailsModule } from '../../users/mails/user-mails.module';
import { UsersModule } from '../../users/users.module';
import { FirstAdministrator } from './first-administrator.service';
import { LinkPagesService } from './link-pages.service';
import { MailJobsService } from './mail-jobs.service';
import { RecoveryController } from './recovery.controller';
import { RecoveryService } from './recovery.service';
import { ResetRequestsService } from './reset-requests.service';
import { WebhooksModule } from '../../webhooks/webhooks.module';

/** Sets passwords and confirms e-mail addresses by mailed link. */
@Module({
  imports: [
    ApiKeysModule,
    WebhooksModule,
    AuthModule,
    CredentialsModule,
    EventsModule,
    JobsModule,
    MailModule,
    RateLimitsModule,
    UserMailsModule,
    UsersModule,
  ],
  controllers: [RecoveryController],
  providers: [FirstAdministrator, LinkPagesService, MailJobsService, RecoveryService, ResetRequestsService],
  exports: [FirstAdministrator],
})
export class RecoveryModule {}
