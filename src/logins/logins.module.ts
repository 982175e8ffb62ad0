import { Module } from '@nestjs/common';
import { ApiKeysModule } from '../api-keys/api-keys.module';
import { CredentialsModule } from '../credentials/credentials.module';
import { FactorsModule } from '../credentials/factors/factors.module';
import { EventsModule } from '../events/events.module';
import { JobsModule } from '../jobs/jobs.module';
import { SessionsModule } from '../sessions/sessions.module';
import { UserMailsModule } from '../user-mails/user-mails.module';
import { UsersModule } from '../users/users.module';
import { ActivityNotes } from './activity-notes.service';
import { CurrentUserController } from './current-user.controller';
import { CurrentUserService } from './current-user.service';
import { ExpiredChallengesRepository } from './expired-challenges.repository';
import { ExpiredChallengesService } from './expired-challenges.service';
import { FactorChangesService } from './factors/factor-changes.service';
import { FactorEnrollmentService } from './factors/factor-enrollment.service';
import { FactorOwnersService } from './factors/factor-owners.service';
import { FactorsController } from './factors/factors.controller';
import { EnrollmentCodeChecksService } from './factors/enrollment-code-checks.service';
import { PasskeyEnrollmentService } from './factors/passkey-enrollment.service';
import { PasskeyLoginsService } from './factors/passkey-logins.service';
import { PasskeyOptionsService } from './factors/passkey-options.service';
import { PasskeyProofsService } from './factors/passkey-proofs.service';
import { PasskeysController } from './factors/passkeys.controller';
import { UserFactorsController } from './factors/user-factors.controller';
import { FactorOwnersRepository } from './factors/factor-owners.repository';
import { FactorProofsService } from './factor-proofs.service';
import { LiveLoginsRepository } from './live-logins.repository';
import { LiveLoginsService } from './live-logins.service';
import { LoginNoticesService } from './login-notices.service';
import { LoginChallengesRepository } from './login-challenges.repository';
import { LoginChallengesService } from './login-challenges.service';
import { LoginCompletionService } from './login-completion.service';
import { LoginsRepository } from './logins.repository';
import { LoginsService } from './logins.service';
import { RememberedActorsService } from './remembered-actors.service';
import { SecondStepService } from './second-step.service';
import { SessionProofsService } from './session-proofs.service';
import { UserAccountController } from './user-account.controller';
import { UserSecureService } from './user-secure.service';
import { UserUnlockService } from './user-unlock.service';

/** Logs users in, and keeps live logins in memory. */
@Module({
  imports: [
    ApiKeysModule,
    CredentialsModule,
    EventsModule,
    FactorsModule,
    JobsModule,
    SessionsModule,
    UserMailsModule,
    UsersModule,
  ],
  controllers: [
    CurrentUserController,
    FactorsController,
    PasskeysController,
    UserFactorsController,
    UserAccountController,
  ],
  providers: [
    ActivityNotes,
    CurrentUserService,
    ExpiredChallengesService,
    ExpiredChallengesRepository,
    FactorChangesService,
    FactorEnrollmentService,
    FactorOwnersService,
    FactorOwnersRepository,
    EnrollmentCodeChecksService,
    LiveLoginsService,
    LiveLoginsRepository,
    FactorProofsService,
    SecondStepService,
    SessionProofsService,
    LoginChallengesService,
    LoginChallengesRepository,
    LoginNoticesService,
    LoginCompletionService,
    LoginsService,
    LoginsRepository,
    PasskeyEnrollmentService,
    PasskeyLoginsService,
    PasskeyOptionsService,
    PasskeyProofsService,
    RememberedActorsService,
    UserSecureService,
    UserUnlockService,
  ],
  exports: [
    FactorChangesService,
    LiveLoginsService,
    LoginsService,
    RememberedActorsService,
    PasskeyLoginsService,
    PasskeyOptionsService,
    SecondStepService,
    SessionProofsService,
  ],
})
export class LoginsModule {}
