import { Module } from '@nestjs/common';
import { EventsModule } from '../events/events.module';
import { RolesModule } from '../roles/roles.module';
import { SessionsController } from './sessions.controller';
import { SessionsRepository } from './sessions.repository';
import { SessionsService } from './sessions.service';

/** Sessions. */
@Module({
  imports: [EventsModule, RolesModule],
  controllers: [SessionsController],
  providers: [SessionsService, SessionsRepository],
  exports: [SessionsService],
})
export class SessionsModule {}
