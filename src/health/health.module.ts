import { Module } from '@nestjs/common';
import { Drain } from '../http/drain';
import { HealthController } from './health.controller';
import { HealthRepository } from './health.repository';
import { HealthService } from './health.service';
import { RootController } from './root.controller';

/** Provides the health checks and the description of the service. */
@Module({ controllers: [RootController, HealthController], providers: [Drain, HealthService, HealthRepository] })
export class HealthModule {}
