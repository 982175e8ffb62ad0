import { Module } from '@nestjs/common';
import { ApiKeysModule } from '../api-keys/api-keys.module';
import { AuthModule } from '../auth/auth.module';
import { CredentialsModule } from '../credentials/credentials.module';
import { FactorsModule } from '../credentials/factors/factors.module';
import { EventsModule } from '../events/events.module';
import { JobsModule } from '../jobs/jobs.module';
import { LoginsModule } from '../logins/logins.module';
import { MailModule } from '../mail/mail.module';
import { RateLimitsModule } from '../rate-limits/rate-limits.module';
import { UserMailsModule } from '../user-mails/user-mails.module';
import { UsersModule } from '../users/users.module';
import { FirstAdministrator } from './first-administrator.service';
import { LinkPagesService } from './link-pages.service';
import { MailJobsService } from './mail-jobs.service';
import { PageScriptController } from './page-script.controller';
import { RecoveryController } from './recovery.controller';
import { RecoveryService } from './recovery.service';
import { ResetRequestsService } from './reset-requests.service';
import { ShownLinks } from './shown-links';
import { TakeoversService } from './takeovers.service';

/** Sets passwords and confirms e-mail addresses by mailed link. */
@Module({
  imports: [
    ApiKeysModule,
    AuthModule,
    CredentialsModule,
    EventsModule,
    FactorsModule,
    JobsModule,
    LoginsModule,
    MailModule,
    RateLimitsModule,
    UserMailsModule,
    UsersModule,
  ],
  controllers: [RecoveryController, PageScriptController],
  providers: [
    FirstAdministrator,
    LinkPagesService,
    MailJobsService,
    RecoveryService,
    ResetRequestsService,
    ShownLinks,
    TakeoversService,
  ],
  exports: [FirstAdministrator],
})
export class RecoveryModule {}
