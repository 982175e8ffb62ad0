import { Global, Module } from '@nestjs/common';
import { ClsPluginTransactional } from '@nestjs-cls/transactional';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { ClsModule } from 'nestjs-cls';
import { Admission, singleWrites } from '../../access/admission';
import { poolMinPerWorker, shareOf } from '../instance';
import { CONFIG, type Config } from '../config/config';
import { retryingTransactions } from './conflicts';
import { dataSourceOptions } from './data-source';
import { showWaiting } from './database.metrics';
import { Database } from './database';
import { DatabaseServer } from './database-server';
import { MetricsService } from '../metrics/metrics.service';
import { Notifications } from './notifications.service';
import { Replica } from './replica';

/** Connections of this process. */
const poolMaxOf = (config: Config): number => shareOf(config.DATABASE_POOL_MAX, poolMinPerWorker);

/** Long work has half of the connections. */
const longWork = {
  provide: Admission,
  inject: [CONFIG, MetricsService],
  useFactory: (config: Config, metrics: MetricsService) => {
    const placesMax = Math.floor(poolMaxOf(config) / 2);
    const limits = { name: 'long-work', work: 'lists, bulk changes or imports', placesMax };
    const admission = new Admission({ ...limits, waitingPerActorMax: 20, patienceMs: 10_000 });
    metrics.beforeScrape(() => showWaiting('long work', admission.waiting));
    return admission;
  },
};

/** Changes of one user, which may wait for bulk changes, leave one connection for logins. */
const writes = {
  provide: singleWrites,
  inject: [CONFIG, MetricsService],
  useFactory: (config: Config, metrics: MetricsService) => {
    const placesMax = Math.max(1, Math.ceil(poolMaxOf(config) / 2) - 1);
    const limits = { name: 'single-writes', work: 'changes of users', placesMax };
    const admission = new Admission({ ...limits, waitingPerActorMax: 100, patienceMs: 10_000 });
    metrics.beforeScrape(() => showWaiting('single writes', admission.waiting));
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
  providers: [Database, DatabaseServer, Notifications, Replica, longWork, writes],
  exports: [Database, DatabaseServer, Notifications, Replica, Admission, singleWrites],
})
export class DatabaseModule {}
