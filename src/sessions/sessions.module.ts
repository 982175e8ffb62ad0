import { Module } from '@nestjs/common';
import { JobsModule } from '../jobs/jobs.module';
import { RolesModule } from '../roles/roles.module';
import { SessionEndsRepository } from './session-ends.repository';
import { SessionRetention } from './session-retention.service';
import { SessionsController } from './sessions.controller';
import { SessionsRepository } from './sessions.repository';
import { SessionsService } from './sessions.service';

/** Provides sessions. */
@Module({
  imports: [JobsModule, RolesModule],
  controllers: [SessionsController],
  providers: [SessionsService, SessionsRepository, SessionEndsRepository, SessionRetention],
  exports: [SessionsService],
})
export class SessionsModule {}
