import { Global, Module } from '@nestjs/common';
import { ClsPluginTransactional } from '@nestjs-cls/transactional';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { ClsModule } from 'nestjs-cls';
import { CONFIG, type Config } from '../config/config';
import { repeatingTransactions } from './conflicts';
import { dataSourceOptions } from './data-source';
import { Database } from './database';
import { Notifications } from './notifications.service';

const typeOrm = TypeOrmModule.forRootAsync({
  inject: [CONFIG],
  useFactory: (config: Config) => ({
    ...dataSourceOptions({
      url: config.DATABASE_URL,
      poolMax: config.DATABASE_POOL_MAX,
      purpose: config.DATABASE_DIRECT_URL !== config.DATABASE_URL ? 'pooled' : 'requests',
    }),
    retryAttempts: 5,
    retryDelay: 1_000,
  }),
});

/**
 * The data source, transactions that travel with the call (`@Transactional()`), and what other
 * instances have changed.
 */
@Global()
@Module({
  imports: [
    typeOrm,
    // not `forRoot`, which puts a guard and an interceptor of its own before every route, that do
    // nothing and cost as much as all of ours
    ClsModule.registerPlugins([
      new ClsPluginTransactional({
        imports: [typeOrm],
        adapter: repeatingTransactions(getDataSourceToken()),
      }),
    ]),
  ],
  providers: [Database, Notifications],
  exports: [Database, Notifications],
})
export class DatabaseModule {}
