import { Module } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { JwtModule } from '@nestjs/jwt';
import { PassportModule } from '@nestjs/passport';
import { CredentialsModule } from '../credentials/credentials.module';
import { EventsModule } from '../events/events.module';
import { JobsModule } from '../jobs/jobs.module';
import { MailModule } from '../mail/mail.module';
import { SessionsModule } from '../sessions/sessions.module';
import { UsersModule } from '../users/users.module';
import { AccessTokens } from './access-tokens';
import { ActorsService } from './actors.service';
import { AddressLimits } from './address-limits';
import { AuthController } from './auth.controller';
import { AuthGuard } from './auth.guard';
import { AuthService } from './auth.service';
import { CheckTokenService } from './check-token.service';
import { FailureLimitInterceptor } from './failure-limit.interceptor';
import { FirstAdministrator } from './first-administrator.service';
import { JwtStrategy } from './jwt.strategy';
import { MailJobsService } from './mail-jobs.service';
import { RecoveryController } from './recovery.controller';
import { RecoveryService } from './recovery.service';
import { RefreshService } from './refresh.service';
import { ShownLinks } from './shown-links';
import { SigningKeysRepository } from './signing-keys.repository';
import { SigningKeysService } from './signing-keys.service';

/** Logging in, tokens, and the guard before every route. */
@Module({
  imports: [JwtModule.register({}), PassportModule, CredentialsModule, EventsModule, JobsModule, MailModule, SessionsModule, UsersModule],
  controllers: [AuthController, RecoveryController],
  providers: [
    { provide: APP_GUARD, useClass: AuthGuard },
    { provide: APP_INTERCEPTOR, useClass: FailureLimitInterceptor },
    ...[AuthService, CheckTokenService, RefreshService, RecoveryService, MailJobsService, FirstAdministrator],
    ...[AccessTokens, ActorsService, AddressLimits, JwtStrategy, ShownLinks, SigningKeysService, SigningKeysRepository],
  ],
  exports: [FirstAdministrator],
})
export class AuthModule {}
