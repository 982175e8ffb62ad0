import { Global, Module } from '@nestjs/common';
import { MetricsService } from './metrics.service';

/** Provides the metrics of this instance for Prometheus. */
@Global()
@Module({ providers: [MetricsService], exports: [MetricsService] })
export class MetricsModule {}
