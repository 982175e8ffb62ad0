import { Global, Module } from '@nestjs/common';
import { ClsPluginTransactional } from '@nestjs-cls/transactional';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { ClsModule } from 'nestjs-cls';
import { poolMinPerWorker, shareOf } from '../common/instance';
import { CONFIG, type Config } from '../config/config';
import { retryingTransactions } from './conflicts';
import { dataSourceOptions } from './data-source';
import { Database } from './database';
import { Notifications } from './notifications.service';

const typeOrm = TypeOrmModule.forRootAsync({
  inject: [CONFIG],
  useFactory: (config: Config) => ({
    ...dataSourceOptions({
      url: config.DATABASE_URL,
      poolMax: shareOf(config.DATABASE_POOL_MAX, poolMinPerWorker),
      purpose: config.DATABASE_DIRECT_URL !== config.DATABASE_URL ? 'pooled' : 'requests',
    }),
    retryAttempts: 5,
    retryDelay: 1_000,
  }),
});

/** Provides the data source, transactions (`@Transactional()`) and change notifications. */
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
  providers: [Database, Notifications],
  exports: [Database, Notifications],
})
export class DatabaseModule {}
