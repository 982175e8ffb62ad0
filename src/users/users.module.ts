import { Module } from '@nestjs/common';
import { CredentialsModule } from '../credentials/credentials.module';
import { EventsModule } from '../events/events.module';
import { IdempotencyModule } from '../idempotency/idempotency.module';
import { JobsModule } from '../jobs/jobs.module';
import { KeysModule } from '../keys/keys.module';
import { OperationsModule } from '../operations/operations.module';
import { RateLimitsModule } from '../rate-limits/rate-limits.module';
import { RolesModule } from '../roles/roles.module';
import { SessionsModule } from '../sessions/sessions.module';
import { ActivityNotes } from './activity-notes.service';
import { LiveLoginsRepository } from './live-logins.repository';
import { LiveLoginsService } from './live-logins.service';
import { UserActorsService } from './user-actors.service';
import { UserAttemptsRepository } from './user-attempts.repository';
import { UserAttemptsService } from './user-attempts.service';
import { UserChangesRepository } from './user-changes.repository';
import { UserChangesService } from './user-changes.service';
import { UserConflictsService } from './user-conflicts.service';
import { UserCreationService } from './user-creation.service';
import { UserLoginsService } from './user-logins.service';
import { UserMailsService } from './user-mails.service';
import { UserPurgeService } from './user-purge.service';
import { UsersController } from './users.controller';
import { UsersRepository } from './users.repository';
import { UsersService } from './users.service';

/** Users. */
@Module({
  imports: [
    CredentialsModule,
    EventsModule,
    IdempotencyModule,
    JobsModule,
    KeysModule,
    OperationsModule,
    RateLimitsModule,
    RolesModule,
    SessionsModule,
  ],
  controllers: [UsersController],
  providers: [
    UsersService,
    UsersRepository,
    UserCreationService,
    UserChangesService,
    UserChangesRepository,
    UserConflictsService,
    ActivityNotes,
    LiveLoginsService,
    LiveLoginsRepository,
    UserActorsService,
    UserAttemptsService,
    UserAttemptsRepository,
    UserLoginsService,
    UserMailsService,
    UserPurgeService,
  ],
  exports: [
    LiveLoginsService,
    UserActorsService,
    UserAttemptsService,
    UsersService,
    UserChangesService,
    UserConflictsService,
    UserCreationService,
    UserLoginsService,
    UserMailsService,
    UserPurgeService,
  ],
})
export class UsersModule {}
