import { Module } from '@nestjs/common';
import { JobsModule } from '../platform/jobs/jobs.module';
import { AttacksRepository } from './attacks.repository';
import { AttacksService } from './attacks.service';
import { ServiceHealthRepository } from './service-health.repository';
import { ServiceHealthService } from './service-health.service';
import { StatsRepository } from './stats.repository';
import { StatsService } from './stats.service';
import { StatsController } from './stats.controller';

/** Figures about users, sessions and logins. */
@Module({
  imports: [JobsModule],
  controllers: [StatsController],
  providers: [
    AttacksService,
    AttacksRepository,
    StatsService,
    StatsRepository,
    ServiceHealthService,
    ServiceHealthRepository,
  ],
})
export class StatsModule {}
