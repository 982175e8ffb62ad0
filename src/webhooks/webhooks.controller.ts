import { Body, Controller, Delete, Get, HttpCode, Patch, Post } from '@nestjs/common';
import { ApiBody, ApiTags } from '@nestjs/swagger';
import type { Actor } from '../access/actor';
import { Allow } from '../access/allow.decorator';
import { CurrentActor } from '../access/caller.decorator';
import { ListQuery } from '../access/list-query.decorator';
import { LongWork, SingleWrite } from '../access/long-work.decorator';
import { Endpoint } from '../http/endpoint.decorator';
import type { ErrorCode } from '../http/errors/error-codes';
import { PathId } from '../http/fields/path-id.decorator';
import type { Page } from '../http/lists/page';
import type { Answered } from '../platform/times';
import { deliveryList, webhookList } from './webhook-list';
import {
  ChangeWebhookRequest,
  CreateWebhookRequest,
  EnableWebhookRequest,
  ReplayWebhookRequest,
  RotateWebhookSecretRequest,
  WebhookDeliveryListResponse,
  type WebhookDeliveryResponse,
  WebhookListResponse,
  WebhookResponse,
  WebhookSecretResponse,
} from './webhooks.dto';
import { WebhooksService } from './webhooks.service';

/** A webhook outlives the API key that creates it, so a stolen key must not create one (W8). */
const freshUser = { apiKeys: false, fresh: true } as const;
const places: ErrorCode[] = ['page.cursor_invalid', 'change.cursor_expired'];
const onlyEnabled: ErrorCode[] = ['webhook.not_found', 'webhook.disabled'];

/** Webhooks. */
@ApiTags('Webhooks')
@Controller('webhook')
export class WebhooksController {
  constructor(private readonly webhooks: WebhooksService) {}

  /** Create a webhook */
  @Post('create')
  @Allow('webhook:manage', freshUser)
  @SingleWrite()
  @Endpoint({
    description:
      'Sends each later change that `GET /change/list` shows to the creator, as a signed request (Standard Webhooks ' +
      '1.0): in the order of the feed, one at a time, at least once. A 2xx response is a success. A 410 response ' +
      'disables the webhook. Otherwise the request is sent again: first after 5 seconds, then with exponential ' +
      'back-off, up to an hour. After 3 days without success, the webhook is disabled. The creator gets a mail if ' +
      'the service disables the webhook. A webhook never sends more than its creator may read at that time. It is ' +
      'disabled if the creator is disabled or deleted, or loses `webhook:manage` or `change:read`.\n\n' +
      'The target must not be a private, reserved or local address, unless `WEBHOOK_ALLOWED_NETWORKS` names it. ' +
      'Redirects are not followed.',
    answer: {
      status: 201,
      type: WebhookSecretResponse,
      description: 'The webhook with its secret, which no other response contains',
    },
    errors: ['access.grant_exceeds_own', 'webhook.too_many'],
  })
  createWebhook(
    @CurrentActor() actor: Actor,
    @Body() request: CreateWebhookRequest,
  ): Promise<Answered<WebhookSecretResponse>> {
    return this.webhooks.create(actor, request);
  }

  /** List webhooks */
  @Get('list')
  @Allow('webhook:manage')
  @LongWork()
  @Endpoint({
    description:
      'Returns the webhooks of Carrier Users within the scope. A caller without a scope also sees all webhooks of ' +
      'System Users. Other callers see only the webhooks that they created.',
    answer: { status: 200, type: WebhookListResponse, description: 'One page of webhooks' },
  })
  listWebhooks(
    @CurrentActor() actor: Actor,
    @ListQuery(webhookList) query: ListQuery,
  ): Promise<Page<Answered<WebhookResponse>>> {
    return this.webhooks.list(actor, query);
  }

  /** Get a webhook */
  @Get(':webhook_id')
  @Allow('webhook:manage')
  @Endpoint({
    answer: { status: 200, type: WebhookResponse, description: 'The webhook' },
    errors: ['webhook.not_found'],
  })
  getWebhook(
    @CurrentActor() actor: Actor,
    @PathId('webhook_id') webhook_id: string,
  ): Promise<Answered<WebhookResponse>> {
    return this.webhooks.get(actor, webhook_id);
  }

  /** Modify a webhook */
  @Patch(':webhook_id')
  @Allow('webhook:manage', freshUser)
  @SingleWrite()
  @Endpoint({
    description: 'Absent fields stay unchanged. Takes effect on the next request of the webhook.',
    answer: { status: 200, type: WebhookResponse, description: 'The webhook after the change' },
    errors: ['webhook.not_found', 'access.grant_exceeds_own'],
  })
  changeWebhook(
    @CurrentActor() actor: Actor,
    @PathId('webhook_id') webhook_id: string,
    @Body() request: ChangeWebhookRequest,
  ): Promise<Answered<WebhookResponse>> {
    return this.webhooks.change(actor, webhook_id, request);
  }

  /** Delete a webhook */
  @Delete(':webhook_id')
  @HttpCode(204)
  @Allow('webhook:manage')
  @Endpoint({
    description:
      'No request is sent after the response. If a request is under way, the response waits for it, at most 15 ' +
      'seconds.',
    answer: { status: 204, description: 'The webhook is deleted' },
    errors: ['webhook.not_found'],
  })
  deleteWebhook(@CurrentActor() actor: Actor, @PathId('webhook_id') webhook_id: string): Promise<void> {
    return this.webhooks.delete(actor, webhook_id);
  }

  /** Test a webhook */
  @Post(':webhook_id/test')
  @HttpCode(202)
  @Allow('webhook:manage')
  @SingleWrite()
  @Endpoint({
    description: 'Sends a request of the type `webhook.test`. Its result is in the list of deliveries.',
    answer: { status: 202, type: WebhookResponse, description: 'The webhook' },
    errors: [...onlyEnabled, 'request.rate_limited'],
    withoutBody: true,
  })
  testWebhook(
    @CurrentActor() actor: Actor,
    @PathId('webhook_id') webhook_id: string,
  ): Promise<Answered<WebhookResponse>> {
    return this.webhooks.test(actor, webhook_id);
  }

  /** Disable a webhook */
  @Post(':webhook_id/disable')
  @HttpCode(202)
  @Allow('webhook:manage')
  @SingleWrite()
  @Endpoint({
    description: 'The webhook stays at its place in the feed. A request that is under way continues.',
    answer: { status: 202, type: WebhookResponse, description: 'The webhook' },
    errors: ['webhook.not_found'],
    withoutBody: true,
  })
  disableWebhook(
    @CurrentActor() actor: Actor,
    @PathId('webhook_id') webhook_id: string,
  ): Promise<Answered<WebhookResponse>> {
    return this.webhooks.stop(actor, webhook_id);
  }

  /** Enable a webhook */
  @Post(':webhook_id/enable')
  @HttpCode(202)
  @Allow('webhook:manage')
  @SingleWrite()
  @ApiBody({ type: EnableWebhookRequest, required: false })
  @Endpoint({
    description: 'Continues where the webhook stopped, or after the given cursor or time.',
    answer: { status: 202, type: WebhookResponse, description: 'The webhook' },
    errors: ['webhook.not_found', ...places],
    optionalBody: true,
  })
  enableWebhook(
    @CurrentActor() actor: Actor,
    @PathId('webhook_id') webhook_id: string,
    @Body() { after }: EnableWebhookRequest,
  ): Promise<Answered<WebhookResponse>> {
    return this.webhooks.enable(actor, webhook_id, after);
  }

  /** Send changes again */
  @Post(':webhook_id/replay')
  @HttpCode(202)
  @Allow('webhook:manage')
  @SingleWrite()
  @Endpoint({
    description: 'Moves the webhook back or forward to a cursor or time, and sends all changes after it.',
    answer: { status: 202, type: WebhookResponse, description: 'The webhook' },
    errors: [...onlyEnabled, ...places],
  })
  replayWebhook(
    @CurrentActor() actor: Actor,
    @PathId('webhook_id') webhook_id: string,
    @Body() { after }: ReplayWebhookRequest,
  ): Promise<Answered<WebhookResponse>> {
    return this.webhooks.replay(actor, webhook_id, after);
  }

  /** Skip a change that fails */
  @Post(':webhook_id/skip')
  @HttpCode(202)
  @Allow('webhook:manage')
  @SingleWrite()
  @Endpoint({
    description: 'Continues with the change after the one that fails. Has no effect unless the webhook is `failing`.',
    answer: { status: 202, type: WebhookResponse, description: 'The webhook' },
    errors: onlyEnabled,
    withoutBody: true,
  })
  skipWebhook(
    @CurrentActor() actor: Actor,
    @PathId('webhook_id') webhook_id: string,
  ): Promise<Answered<WebhookResponse>> {
    return this.webhooks.skip(actor, webhook_id);
  }

  /** Replace the secret of a webhook */
  @Post(':webhook_id/rotate-secret')
  @HttpCode(200)
  @Allow('webhook:manage', freshUser)
  @SingleWrite()
  @Endpoint({
    description:
      'Both secrets sign until `old_secret_until`. Another rotation before this time removes the oldest secret.',
    answer: { status: 200, type: WebhookSecretResponse, description: 'The webhook with the new secret' },
    errors: ['webhook.not_found'],
  })
  rotateWebhookSecret(
    @CurrentActor() actor: Actor,
    @PathId('webhook_id') webhook_id: string,
    @Body() { keep_old_seconds }: RotateWebhookSecretRequest,
  ): Promise<Answered<WebhookSecretResponse>> {
    return this.webhooks.rotateSecret(actor, webhook_id, keep_old_seconds);
  }

  /** List the deliveries of a webhook */
  @Get(':webhook_id/delivery/list')
  @Allow('webhook:manage')
  @LongWork()
  @Endpoint({
    description: 'Returns the attempts of the last 7 days, at most the last 10,000, and the waiting tests and retries.',
    answer: { status: 200, type: WebhookDeliveryListResponse, description: 'One page of deliveries' },
    errors: ['webhook.not_found'],
  })
  listDeliveries(
    @CurrentActor() actor: Actor,
    @PathId('webhook_id') webhook_id: string,
    @ListQuery(deliveryList) query: ListQuery,
  ): Promise<Page<Answered<WebhookDeliveryResponse>>> {
    return this.webhooks.listDeliveries(actor, webhook_id, query);
  }

  /** Retry a delivery */
  @Post(':webhook_id/delivery/:delivery_id/retry')
  @HttpCode(202)
  @Allow('webhook:manage')
  @SingleWrite()
  @Endpoint({
    description: 'Sends the change of the delivery once more, out of the order of the feed.',
    answer: { status: 202, type: WebhookResponse, description: 'The webhook' },
    errors: [...onlyEnabled, 'delivery.not_found', 'request.rate_limited'],
    withoutBody: true,
  })
  retryDelivery(
    @CurrentActor() actor: Actor,
    @PathId('webhook_id') webhook_id: string,
    @PathId('delivery_id') delivery_id: string,
  ): Promise<Answered<WebhookResponse>> {
    return this.webhooks.retry(actor, webhook_id, delivery_id);
  }
}
