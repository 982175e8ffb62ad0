import { Module } from '@nestjs/common';
import { JwtModule } from '@nestjs/jwt';
import { PassportModule } from '@nestjs/passport';
import { AddressBlocksModule } from '../access/address-blocks/address-blocks.module';
import { ApiKeysModule } from '../access/api-keys/api-keys.module';
import { RateLimitsModule } from '../access/rate-limits/rate-limits.module';
import { RolesModule } from '../access/roles/roles.module';
import { EventsModule } from '../audit/events.module';
import { JobsModule } from '../platform/jobs/jobs.module';
import { UserMailsModule } from '../users/mails/user-mails.module';
import { UsersModule } from '../users/users.module';
import { AuthController } from './auth.controller';
import { AuthService } from './auth.service';
import { JwtStrategy } from './jwt.strategy';
import { CurrentUserController } from './login/current-user.controller';
import { CurrentUserService } from './login/current-user.service';
import { ExpiredChallengesService } from './login/expired-challenges.service';
import { LoginChallengesRepository } from './login/login-challenges.repository';
import { LoginCompletionService } from './login/login-completion.service';
import { LoginsRepository } from './login/logins.repository';
import { LoginsService } from './login/logins.service';
import { CredentialsModule } from './passwords/credentials.module';
import { MetadataController } from './metadata.controller';
import { ReauthenticationController } from './reauthentication.controller';
import { ReauthenticationService } from './reauthentication.service';
import { RefusedRequests } from './refused-requests';
import { RestoreService } from './restore.service';
import { EnrollmentCodesRepository } from './second-factors/codes/enrollment-codes.repository';
import { EnrollmentCodesService } from './second-factors/codes/enrollment-codes.service';
import { FactorChangesService } from './second-factors/factor-changes.service';
import { FactorEnrollmentService } from './second-factors/factor-enrollment.service';
import { FactorOwnersRepository } from './second-factors/factor-owners.repository';
import { FactorProofsService } from './second-factors/factor-proofs.service';
import { FactorsController } from './second-factors/factors.controller';
import { FactorsRepository } from './second-factors/factors.repository';
import { FactorsService } from './second-factors/factors.service';
import { PasskeyLoginsController } from './second-factors/passkeys/passkey-logins.controller';
import { PasskeyLoginsService } from './second-factors/passkeys/passkey-logins.service';
import { PasskeysRepository } from './second-factors/passkeys/passkeys.repository';
import { PasskeysService } from './second-factors/passkeys/passkeys.service';
import { SecondFactorController } from './second-factors/second-factor.controller';
import { SecondFactorService } from './second-factors/second-factor.service';
import { UserFactorsController } from './second-factors/user-factors.controller';
import { SessionsModule } from './sessions/sessions.module';
import { SigningKeysModule } from './signing-keys/signing-keys.module';
import { AccessTokens } from './tokens/access-tokens';
import { ActivityNotes } from './tokens/activity-notes.service';
import { CheckTokenService } from './tokens/check-token.service';
import { IntrospectionController } from './tokens/introspection.controller';
import { IntrospectionService } from './tokens/introspection.service';
import { LiveLoginsRepository } from './tokens/live-logins.repository';
import { LiveLoginsService } from './tokens/live-logins.service';
import { RefreshService } from './tokens/refresh.service';
import { RememberedActorsService } from './tokens/remembered-actors.service';
import { VerifiedTokens } from './tokens/verified-tokens';
import { VerifyController } from './tokens/verify.controller';
import { LoginCheckRepository } from './user-security/login-check.repository';
import { LoginCheckService } from './user-security/login-check.service';
import { UserAccountController } from './user-security/user-account.controller';
import { UserAccountService } from './user-security/user-account.service';

/** Logs users in and out, manages second factors, checks tokens, and guards every route. */
@Module({
  imports: [
    JwtModule.register({}),
    PassportModule,
    AddressBlocksModule,
    ApiKeysModule,
    CredentialsModule,
    EventsModule,
    JobsModule,
    RateLimitsModule,
    RolesModule,
    SessionsModule,
    SigningKeysModule,
    UserMailsModule,
    UsersModule,
  ],
  controllers: [
    AuthController,
    IntrospectionController,
    MetadataController,
    VerifyController,
    ReauthenticationController,
    SecondFactorController,
    PasskeyLoginsController,
    CurrentUserController,
    FactorsController,
    UserFactorsController,
    UserAccountController,
  ],
  providers: [
    AccessTokens,
    ActivityNotes,
    AuthService,
    CheckTokenService,
    CurrentUserService,
    EnrollmentCodesRepository,
    EnrollmentCodesService,
    ExpiredChallengesService,
    FactorChangesService,
    FactorEnrollmentService,
    FactorOwnersRepository,
    FactorProofsService,
    FactorsRepository,
    FactorsService,
    IntrospectionService,
    JwtStrategy,
    LiveLoginsRepository,
    LiveLoginsService,
    LoginChallengesRepository,
    LoginCheckRepository,
    LoginCheckService,
    LoginCompletionService,
    LoginsRepository,
    LoginsService,
    PasskeyLoginsService,
    PasskeysRepository,
    PasskeysService,
    ReauthenticationService,
    RefreshService,
    RefusedRequests,
    RememberedActorsService,
    RestoreService,
    SecondFactorService,
    UserAccountService,
    VerifiedTokens,
  ],
  exports: [
    EnrollmentCodesService,
    FactorChangesService,
    FactorsService,
    LiveLoginsService,
    LoginsService,
    RefusedRequests,
    RememberedActorsService,
    VerifiedTokens,
  ],
})
export class AuthModule {}
