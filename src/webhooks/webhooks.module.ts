import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module';
import { EventsModule } from '../audit/events.module';
import { JobsModule } from '../platform/jobs/jobs.module';
import { UserMailsModule } from '../users/mails/user-mails.module';
import { WebhookRunner } from './webhook-runner.service';
import { WebhookRunsRepository } from './webhook-runs.repository';
import { WebhookTransport } from './webhook-transport';
import { WebhooksController } from './webhooks.controller';
import { WebhooksRepository } from './webhooks.repository';
import { WebhooksService } from './webhooks.service';

/** Webhooks: changes of the feed, sent to modules. */
@Module({
  imports: [AuthModule, EventsModule, JobsModule, UserMailsModule],
  controllers: [WebhooksController],
  providers: [WebhooksService, WebhookRunner, WebhookTransport, WebhooksRepository, WebhookRunsRepository],
  exports: [WebhooksService],
})
export class WebhooksModule {}
