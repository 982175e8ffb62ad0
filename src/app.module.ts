import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { AuthGuard } from './auth/auth.guard';
import { AuthModule } from './auth/auth.module';
import { RefusedRequests } from './auth/refused-requests';
import { ProblemFilter } from './common/http/problem.filter';
import { RequestRulesGuard } from './common/http/request-rules.guard';
import { BodyPipe } from './common/http/validation.pipe';
import { type Config, serviceUrl } from './config/config';
import { ConfigModule } from './config/config.module';
import { DatabaseModule } from './database/database.module';
import { DocsModule } from './docs/docs.module';
import { EventsModule } from './events/events.module';
import { HealthModule } from './health/health.module';
import { JobsModule } from './jobs/jobs.module';
import { ApiKeysModule } from './api-keys/api-keys.module';
import { MailModule } from './mail/mail.module';
import { MetricsModule } from './metrics/metrics.module';
import { OperationsModule } from './operations/operations.module';
import { RateLimitsModule } from './rate-limits/rate-limits.module';
import { RecoveryModule } from './recovery/recovery.module';
import { RolesModule } from './roles/roles.module';
import { SessionsModule } from './sessions/sessions.module';
import { StatsModule } from './stats/stats.module';
import { UsersModule } from './users/users.module';
import { UsersBulkModule } from './users-bulk/users-bulk.module';
import { UsersTransferModule } from './users-transfer/users-transfer.module';

/**
 * Lists the modules of the service.
 * `users-bulk` and `users-transfer` come before `users`, so that the router does not read
 * `/user/all` as a user id.
 */
@Module({})
export class AppModule {
  static forRoot(config: Config): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot(config),
        MetricsModule,
        DatabaseModule,
        EventsModule,
        JobsModule,
        MailModule,
        RateLimitsModule,
        RolesModule,
        SessionsModule,
        ApiKeysModule,
        OperationsModule,
        UsersBulkModule,
        UsersTransferModule,
        UsersModule,
        AuthModule,
        RecoveryModule,
        StatsModule,
        HealthModule,
        DocsModule,
      ],
      providers: [
        { provide: APP_PIPE, useClass: BodyPipe },
        // The order matters: a caller without access must not see the errors of the second guard.
        { provide: APP_GUARD, useClass: AuthGuard },
        { provide: APP_GUARD, useClass: RequestRulesGuard },
        {
          provide: APP_FILTER,
          inject: [RefusedRequests],
          useFactory: (refused: RefusedRequests) =>
            new ProblemFilter(serviceUrl(config), config.FRESH_AUTH_SECONDS, refused.errorFor.bind(refused)),
        },
      ],
    };
  }
}
