import { Module } from '@nestjs/common';
import { CredentialsModule } from '../credentials/credentials.module';
import { EventsModule } from '../events/events.module';
import { JobsModule } from '../jobs/jobs.module';
import { RolesModule } from '../roles/roles.module';
import { SessionsModule } from '../sessions/sessions.module';
import { LiveLoginsRepository } from './live-logins.repository';
import { LiveLoginsService } from './live-logins.service';
import { UserChangesRepository } from './user-changes.repository';
import { UserChangesService } from './user-changes.service';
import { UserLoginsService } from './user-logins.service';
import { UserMailsService } from './user-mails.service';
import { UsersController } from './users.controller';
import { UsersRepository } from './users.repository';
import { UsersService } from './users.service';

/** Users. */
@Module({
  imports: [CredentialsModule, EventsModule, JobsModule, RolesModule, SessionsModule],
  controllers: [UsersController],
  providers: [
    UsersService,
    UsersRepository,
    UserChangesService,
    UserChangesRepository,
    LiveLoginsService,
    LiveLoginsRepository,
    UserLoginsService,
    UserMailsService,
  ],
  exports: [LiveLoginsService, UsersService, UserChangesService, UserLoginsService, UserMailsService],
})
export class UsersModule {}
