import { Module } from '@nestjs/common';
import { CredentialsModule } from '../auth/passwords/credentials.module';
import { EventsModule } from '../audit/events.module';
import { IdempotencyModule } from '../http/idempotency/idempotency.module';
import { JobsModule } from '../platform/jobs/jobs.module';
import { ApiKeysModule } from '../access/api-keys/api-keys.module';
import { OperationsModule } from './operations/operations.module';
import { RateLimitsModule } from '../access/rate-limits/rate-limits.module';
import { RolesModule } from '../access/roles/roles.module';
import { SessionsModule } from '../auth/sessions/sessions.module';
import { UserMailsModule } from './mails/user-mails.module';
import { CarriersController } from './carriers.controller';
import { CarriersRepository } from './carriers.repository';
import { UserChangesService } from './changes/user-changes.service';
import { UserCreationService } from './user-creation.service';
import { UserPasswordsService } from './user-passwords.service';
import { UserPurgeService } from './user-purge.service';
import { UsersController } from './users.controller';
import { UsersRepository } from './users.repository';
import { UsersService } from './users.service';

/** Provides users. */
@Module({
  imports: [
    CredentialsModule,
    EventsModule,
    IdempotencyModule,
    JobsModule,
    ApiKeysModule,
    OperationsModule,
    RateLimitsModule,
    RolesModule,
    SessionsModule,
    UserMailsModule,
  ],
  controllers: [UsersController, CarriersController],
  providers: [
    UsersService,
    UsersRepository,
    CarriersRepository,
    UserCreationService,
    UserChangesService,
    UserPasswordsService,
    UserPurgeService,
  ],
  exports: [UsersService, UserChangesService, UserCreationService, UserPasswordsService, UserPurgeService],
})
export class UsersModule {}
