import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { AuthGuard } from './auth/auth.guard';
import { AuthModule } from './auth/auth.module';
import { RefusedRequests } from './auth/refused-requests';
import { ProblemFilter } from './http/errors/problem.filter';
import { RequestRulesGuard } from './http/fields/request-rules.guard';
import { BodyPipe } from './http/fields/validation.pipe';
import { type Config, serviceUrl } from './platform/config/config';
import { ConfigModule } from './platform/config/config.module';
import { DatabaseModule } from './platform/database/database.module';
import { EventsModule } from './audit/events.module';
import { HealthModule } from './health/health.module';
import { JobsModule } from './platform/jobs/jobs.module';
import { AddressBlocksModule } from './access/address-blocks/address-blocks.module';
import { ApiKeysModule } from './access/api-keys/api-keys.module';
import { MailModule } from './platform/mail/mail.module';
import { MetricsModule } from './platform/metrics/metrics.module';
import { OperationsModule } from './users/operations/operations.module';
import { RateLimitsModule } from './access/rate-limits/rate-limits.module';
import { RecoveryModule } from './auth/recovery/recovery.module';
import { RolesModule } from './access/roles/roles.module';
import { SessionsModule } from './auth/sessions/sessions.module';
import { StatsModule } from './stats/stats.module';
import { UsersModule } from './users/users.module';
import { UsersBulkModule } from './users/bulk/users-bulk.module';
import { UsersTransferModule } from './users/transfer/users-transfer.module';
import { WebhooksModule } from './webhooks/webhooks.module';

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
        AddressBlocksModule,
        OperationsModule,
        UsersBulkModule,
        UsersTransferModule,
        UsersModule,
        AuthModule,
        WebhooksModule,
        RecoveryModule,
        StatsModule,
        HealthModule,
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
