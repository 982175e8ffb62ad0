import { Global, Module } from '@nestjs/common';
import { ClsPluginTransactional } from '@nestjs-cls/transactional';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { ClsModule } from 'nestjs-cls';
import { Admission } from '../access/admission';
import { poolMinPerWorker, shareOf } from '../common/instance';
import { CONFIG, type Config } from '../config/config';
import { retryingTransactions } from './conflicts';
import { dataSourceOptions } from './data-source';
import { showLongWork } from './database.metrics';
import { Database } from './database';
import { MetricsService } from '../metrics/metrics.service';
import { Notifications } from './notifications.service';

/** Connections of this process. */
const poolMaxOf = (config: Config): number => shareOf(config.DATABASE_POOL_MAX, poolMinPerWorker);

/** Long work has half of the connections. */
const admission = {
  provide: Admission,
  inject: [CONFIG, MetricsService],
  useFactory: (config: Config, metrics: MetricsService) => {
    const placesMax = Math.floor(poolMaxOf(config) / 2);
    const admission = new Admission({ placesMax, waitingPerActorMax: 20, patienceMs: 10_000 });
    metrics.beforeScrape(() => showLongWork(admission.waiting));
    return admission;
  },
};

const typeOrm = TypeOrmModule.forRootAsync({
  inject: [CONFIG],
  useFactory: (config: Config) => ({
    ...dataSourceOptions({
      url: config.DATABASE_URL,
      poolMax: poolMaxOf(config),
      purpose: config.DATABASE_DIRECT_URL !== config.DATABASE_URL ? 'pooled' : 'requests',
    }),
    retryAttempts: 5,
    retryDelay: 1_000,
  }),
});

/** Provides the data source, transactions, the admission of long work, and change notifications. */
@Global()
@Module({
  imports: [
    typeOrm,
    // Not `forRoot`, which adds a guard and an interceptor to every route, without effect here.
    ClsModule.registerPlugins([
      new ClsPluginTransactional({
        imports: [typeOrm],
        adapter: retryingTransactions(getDataSourceToken()),
      }),
    ]),
  ],
  providers: [Database, Notifications, admission],
  exports: [Database, Notifications, Admission],
})
export class DatabaseModule {}
