import { Module } from '@nestjs/common';
import { EventsModule } from '../events/events.module';
import { JobsModule } from '../jobs/jobs.module';
import { RolesModule } from '../roles/roles.module';
import { SessionRetention } from './session-retention.service';
import { SessionsController } from './sessions.controller';
import { SessionsRepository } from './sessions.repository';
import { SessionsService } from './sessions.service';

/** Sessions. */
@Module({
  imports: [EventsModule, JobsModule, RolesModule],
  controllers: [SessionsController],
  providers: [SessionsService, SessionsRepository, SessionRetention],
  exports: [SessionsService],
})
export class SessionsModule {}
