import { Module } from '@nestjs/common';
import { ApiKeysModule } from '../api-keys/api-keys.module';
import { CredentialsModule } from '../credentials/credentials.module';
import { EventsModule } from '../events/events.module';
import { SessionsModule } from '../sessions/sessions.module';
import { UsersModule } from '../users/users.module';
import { ActivityNotes } from './activity-notes.service';
import { LiveLoginsRepository } from './live-logins.repository';
import { LiveLoginsService } from './live-logins.service';
import { PasswordChecksService } from './password-checks.service';
import { RememberedActorsService } from './remembered-actors.service';
import { UserAttemptsRepository } from './user-attempts.repository';
import { UserAttemptsService } from './user-attempts.service';

/** Logs users in, and keeps live logins in memory. */
@Module({
  imports: [ApiKeysModule, CredentialsModule, EventsModule, SessionsModule, UsersModule],
  providers: [
    ActivityNotes,
    LiveLoginsService,
    LiveLoginsRepository,
    PasswordChecksService,
    RememberedActorsService,
    UserAttemptsService,
    UserAttemptsRepository,
  ],
  exports: [LiveLoginsService, PasswordChecksService, RememberedActorsService],
})
export class LoginsModule {}
