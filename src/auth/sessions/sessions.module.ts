import { Module } from '@nestjs/common';
import { JobsModule } from '../../platform/jobs/jobs.module';
import { RolesModule } from '../../access/roles/roles.module';
import { SessionEndsRepository } from './session-ends.repository';
import { SessionsController } from './sessions.controller';
import { SessionsRepository } from './sessions.repository';
import { SessionsService } from './sessions.service';

/** Provides sessions. */
@Module({
  imports: [JobsModule, RolesModule],
  controllers: [SessionsController],
  providers: [SessionsService, SessionsRepository, SessionEndsRepository],
  exports: [SessionsService],
})
export class SessionsModule {}
