import { Module } from '@nestjs/common';
import { JwtModule } from '@nestjs/jwt';
import { PassportModule } from '@nestjs/passport';
import { CredentialsModule } from '../credentials/credentials.module';
import { EventsModule } from '../events/events.module';
import { JobsModule } from '../jobs/jobs.module';
import { KeysModule } from '../keys/keys.module';
import { MailModule } from '../mail/mail.module';
import { SessionsModule } from '../sessions/sessions.module';
import { UsersModule } from '../users/users.module';
import { AccessTokens } from './access-tokens';
import { ActorsService } from './actors.service';
import { AddressLimits } from './address-limits';
import { AuthController } from './auth.controller';
import { AuthService } from './auth.service';
import { CheckTokenService } from './check-token.service';
import { FirstAdministrator } from './first-administrator.service';
import { IntrospectionController } from './introspection.controller';
import { IntrospectionService } from './introspection.service';
import { JwtStrategy } from './jwt.strategy';
import { MailJobsService } from './mail-jobs.service';
import { PasswordChecksService } from './password-checks.service';
import { RecoveryController } from './recovery.controller';
import { RecoveryService } from './recovery.service';
import { RefreshService } from './refresh.service';
import { ShownLinks } from './shown-links';
import { SigningKeyRotation } from './signing-key-rotation.service';
import { SigningKeysRepository } from './signing-keys.repository';
import { SigningKeysService } from './signing-keys.service';
import { VerifiedTokens } from './verified-tokens';

/** Logging in, tokens, and the guard before every route. */
@Module({
  imports: [
    JwtModule.register({}),
    PassportModule,
    CredentialsModule,
    EventsModule,
    JobsModule,
    KeysModule,
    MailModule,
    SessionsModule,
    UsersModule,
  ],
  controllers: [AuthController, IntrospectionController, RecoveryController],
  providers: [
    ...[AuthService, PasswordChecksService, CheckTokenService, IntrospectionService, RefreshService, RecoveryService],
    ...[FirstAdministrator, MailJobsService],
    ...[AccessTokens, ActorsService, AddressLimits, JwtStrategy, ShownLinks, VerifiedTokens],
    ...[SigningKeysService, SigningKeyRotation, SigningKeysRepository],
  ],
  exports: [ActorsService, AddressLimits, FirstAdministrator, VerifiedTokens],
})
export class AuthModule {}
