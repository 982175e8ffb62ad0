import { Module } from '@nestjs/common';
import { CredentialsModule } from '../credentials/credentials.module';
import { EventsModule } from '../events/events.module';
import { IdempotencyModule } from '../idempotency/idempotency.module';
import { JobsModule } from '../jobs/jobs.module';
import { ApiKeysModule } from '../api-keys/api-keys.module';
import { OperationsModule } from '../operations/operations.module';
import { RateLimitsModule } from '../rate-limits/rate-limits.module';
import { RolesModule } from '../roles/roles.module';
import { SessionsModule } from '../sessions/sessions.module';
import { UserMailsModule } from '../user-mails/user-mails.module';
import { UserChangesService } from './user-changes.service';
import { UserCreationService } from './user-creation.service';
import { UserPasswordsService } from './user-passwords.service';
import { UserPurgeService } from './user-purge.service';
import { UserRetention } from './user-retention.service';
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
  controllers: [UsersController],
  providers: [
    UsersService,
    UsersRepository,
    UserCreationService,
    UserChangesService,
    UserPasswordsService,
    UserPurgeService,
    UserRetention,
  ],
  exports: [UsersService, UserChangesService, UserCreationService, UserPasswordsService, UserPurgeService],
})
export class UsersModule {}
