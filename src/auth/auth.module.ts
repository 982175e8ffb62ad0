import { Module } from '@nestjs/common';
import { JwtModule } from '@nestjs/jwt';
import { PassportModule } from '@nestjs/passport';
import { ApiKeysModule } from '../api-keys/api-keys.module';
import { CredentialsModule } from '../credentials/credentials.module';
import { EventsModule } from '../events/events.module';
import { LoginsModule } from '../logins/logins.module';
import { RateLimitsModule } from '../rate-limits/rate-limits.module';
import { RolesModule } from '../roles/roles.module';
import { SessionsModule } from '../sessions/sessions.module';
import { SigningKeysModule } from '../signing-keys/signing-keys.module';
import { UserMailsModule } from '../user-mails/user-mails.module';
import { UsersModule } from '../users/users.module';
import { AccessTokens } from './access-tokens';
import { ActorsService } from './actors.service';
import { AuthController } from './auth.controller';
import { AuthService } from './auth.service';
import { CheckTokenService } from './check-token.service';
import { IntrospectionController } from './introspection.controller';
import { IntrospectionService } from './introspection.service';
import { PasskeyLoginsController } from './passkey-logins.controller';
import { JwtStrategy } from './jwt.strategy';
import { LoginResponses } from './login-responses';
import { ReauthenticationController } from './reauthentication.controller';
import { ReauthenticationService } from './reauthentication.service';
import { RefreshService } from './refresh.service';
import { RefusedRequests } from './refused-requests';
import { SecondFactorController } from './second-factor.controller';
import { SecondFactorService } from './second-factor.service';
import { VerifiedTokens } from './verified-tokens';

/** Logs users in and out, checks tokens, and guards every route. */
@Module({
  imports: [
    JwtModule.register({}),
    PassportModule,
    ApiKeysModule,
    CredentialsModule,
    EventsModule,
    LoginsModule,
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
    ReauthenticationController,
    SecondFactorController,
    PasskeyLoginsController,
  ],
  providers: [
    AccessTokens,
    ActorsService,
    AuthService,
    CheckTokenService,
    IntrospectionService,
    JwtStrategy,
    LoginResponses,
    ReauthenticationService,
    RefreshService,
    RefusedRequests,
    SecondFactorService,
    VerifiedTokens,
  ],
  exports: [ActorsService, AuthService, RefusedRequests, VerifiedTokens],
})
export class AuthModule {}
