import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { type Actor, systemActor } from '../access/actor';
import { assertHolds } from '../access/permissions';
import { mayGiveScope } from '../access/scope';
import type { ChangesOf } from '../audit/event-catalogue';
import { placeOf } from '../audit/changes/changes.dto';
import { ChangesService } from '../audit/changes/changes.service';
import { EventsService } from '../audit/events.service';
import { AppError, invalid } from '../http/errors/app-error';
import type { ListQuery } from '../http/lists/list-query';
import type { Page } from '../http/lists/page';
import { currentTime } from '../platform/clock';
import { CONFIG, type Config } from '../platform/config/config';
import { newId } from '../platform/random';
import type { Answered } from '../platform/times';
import { UserMailsService } from '../users/mails/user-mails.service';
import { WebhookSecrets } from './webhook-secrets';
import { WebhookTransport } from './webhook-transport';
import type { DisabledReason } from './webhook.entity';
import {
  type ChangeWebhookRequest,
  type CreateWebhookRequest,
  toDeliveryResponse,
  toWebhookResponse,
  type WebhookDeliveryResponse,
  type WebhookRecord,
  type WebhookResponse,
  type WebhookSecretResponse,
} from './webhooks.dto';
import { type DisabledWebhook, WebhooksRepository, type WebhookSettings } from './webhooks.repository';

/** Maximum number of webhooks. Each is a reader of the change feed. */
const webhooksMax = 500;
const dayMs = 86_400_000;
const pollMs = 50;

/** Webhooks: subscriptions to the change feed that the service delivers by HTTP. */
@Injectable()
export class WebhooksService implements OnApplicationBootstrap {
  private readonly secrets: WebhookSecrets;

  constructor(
    private readonly webhooks: WebhooksRepository,
    private readonly changes: ChangesService,
    private readonly events: EventsService,
    private readonly mails: UserMailsService,
    private readonly transport: WebhookTransport,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    this.secrets = new WebhookSecrets(config);
  }

  /** Encrypts secrets of `APP_SECRET_PREVIOUS` with `APP_SECRET`. */
  async onApplicationBootstrap(): Promise<void> {
    if (this.config.APP_SECRET_PREVIOUS === undefined) return;
    for (const stored of await this.webhooks.listSecrets()) {
      const renewed = this.secrets.renew(stored);
      if (renewed !== null)
        await this.webhooks.updateEncryption(stored.webhook_id, stored.secret, renewed.secret, renewed.old_secret);
    }
  }

  /**
   * Creates a webhook for the changes from now on. Only the response contains the secret.
   * @throws access.grant_exceeds_own, access.denied, webhook.too_many, request.invalid
   */
  @Transactional()
  async create(actor: Actor, request: CreateWebhookRequest): Promise<Answered<WebhookSecretResponse>> {
    const { url, description = null, type_in = [], carrier_scope = null, include_values = false } = request;
    const settings = { url, description, type_in, carrier_scope, include_values };
    this.assertTarget(url);
    assertMayGive(actor, settings);
    const { user_id: created_by, user_type, carrier_id, session_id } = actor;
    const webhook_id = newId();
    const { secret, sealed } = this.secrets.mint(webhook_id);
    const webhook = { webhook_id, ...settings, user_type, carrier_id, created_by, secret: sealed };
    if (!(await this.webhooks.insert(webhook, await this.changes.findEnd(), session_id, webhooksMax)))
      throw new AppError('webhook.too_many');
    await this.events.record(actor, 'webhook.created', { id: webhook_id, carrier_id }, changesOf(settings));
    return { ...(await this.get(actor, webhook_id)), secret };
  }

  /** Returns a webhook within the scope. @throws webhook.not_found */
  async get(actor: Actor, webhook_id: string): Promise<Answered<WebhookResponse>> {
    return toWebhookResponse(await this.read(actor, webhook_id));
  }

  /** Returns one page of the webhooks within the scope. */
  async list(actor: Actor, query: ListQuery): Promise<Page<Answered<WebhookResponse>>> {
    const page = await this.webhooks.list(actor, query);
    return { ...page, items: page.items.map(toWebhookResponse) };
  }

  /**
   * Changes the settings of a webhook.
   * @throws webhook.not_found, access.grant_exceeds_own, access.denied, request.invalid
   */
  @Transactional()
  async change(actor: Actor, webhook_id: string, request: ChangeWebhookRequest): Promise<Answered<WebhookResponse>> {
    const webhook = await this.lock(actor, webhook_id);
    const { url, description, type_in, carrier_scope, include_values } = { ...webhook, ...request };
    const settings = { url, description, type_in, carrier_scope, include_values };
    if (request.url !== undefined) this.assertTarget(url);
    assertMayGive(actor, settings, webhook.user_type);
    const changes = changesOf(settings, webhook);
    if (Object.keys(changes).length > 0) {
      await this.webhooks.update(webhook_id, settings, actor.user_id);
      await this.events.record(actor, 'webhook.changed', { id: webhook_id, carrier_id: webhook.carrier_id }, changes);
    }
    return this.get(actor, webhook_id);
  }

  /** Disables a webhook at its place in the feed. @throws webhook.not_found */
  @Transactional()
  async stop(actor: Actor, webhook_id: string): Promise<Answered<WebhookResponse>> {
    await this.lock(actor, webhook_id);
    await this.disable(actor, webhook_id, 'requested');
    return this.get(actor, webhook_id);
  }

  /**
   * Enables a webhook. Continues where it stopped, or after a cursor or time.
   * @throws webhook.not_found, page.cursor_invalid, change.cursor_expired
   */
  @Transactional()
  async enable(actor: Actor, webhook_id: string, after: string | undefined): Promise<Answered<WebhookResponse>> {
    const { carrier_id } = await this.lock(actor, webhook_id);
    const stopped = after === undefined ? await this.webhooks.findPlace(webhook_id) : null;
    if (stopped !== null && stopped.at.getTime() < currentTime().getTime() - this.config.CHANGE_DAYS * dayMs)
      throw new AppError('change.cursor_expired');
    const place = after === undefined ? null : await this.changes.placeOf(after);
    await this.webhooks.enable(webhook_id, place, actor.user_id);
    await this.events.record(actor, 'webhook.enabled', { id: webhook_id, carrier_id }, afterOf(after));
    return this.get(actor, webhook_id);
  }

  /**
   * Sends the changes after a cursor or time again.
   * @throws webhook.not_found, webhook.disabled, page.cursor_invalid, change.cursor_expired
   */
  @Transactional()
  async replay(actor: Actor, webhook_id: string, after: string): Promise<Answered<WebhookResponse>> {
    const { carrier_id } = await this.lockEnabled(actor, webhook_id);
    await this.webhooks.enable(webhook_id, await this.changes.placeOf(after), actor.user_id);
    await this.events.record(actor, 'webhook.replayed', { id: webhook_id, carrier_id }, afterOf(after));
    return this.get(actor, webhook_id);
  }

  /**
   * Skips the change that fails. Does nothing unless the webhook is failing.
   * @throws webhook.not_found, webhook.disabled
   */
  @Transactional()
  async skip(actor: Actor, webhook_id: string): Promise<Answered<WebhookResponse>> {
    const webhook = await this.lockEnabled(actor, webhook_id);
    const change_id = webhook.state === 'failing' ? await this.webhooks.findLastSent(webhook_id) : null;
    const change = change_id === null ? null : await this.changes.find(systemActor, change_id);
    if (change !== null) {
      await this.webhooks.enable(webhook_id, placeOf(change), actor.user_id);
      const changes = { change_id: { after: change_id } };
      await this.events.record(actor, 'webhook.skipped', { id: webhook_id, carrier_id: webhook.carrier_id }, changes);
    }
    return this.get(actor, webhook_id);
  }

  /** Replaces the secret. @throws webhook.not_found */
  @Transactional()
  async rotateSecret(
    actor: Actor,
    webhook_id: string,
    keep_old_seconds: number,
  ): Promise<Answered<WebhookSecretResponse>> {
    const { carrier_id } = await this.lock(actor, webhook_id);
    const { secret, sealed } = this.secrets.mint(webhook_id);
    await this.webhooks.updateSecret(webhook_id, sealed, keep_old_seconds, actor.user_id);
    await this.events.record(actor, 'webhook.secret_rotated', { id: webhook_id, carrier_id });
    return { ...(await this.get(actor, webhook_id)), secret };
  }

  /** Requests a test. @throws webhook.not_found, webhook.disabled, request.rate_limited */
  @Transactional()
  async test(actor: Actor, webhook_id: string): Promise<Answered<WebhookResponse>> {
    await this.lockEnabled(actor, webhook_id);
    await this.request(webhook_id, 'test', { change_id: null, type: 'webhook.test', attempt: 1 });
    return this.get(actor, webhook_id);
  }

  /**
   * Requests a retry of a delivery.
   * @throws webhook.not_found, delivery.not_found, webhook.disabled, request.rate_limited
   */
  @Transactional()
  async retry(actor: Actor, webhook_id: string, delivery_id: string): Promise<Answered<WebhookResponse>> {
    await this.lockEnabled(actor, webhook_id);
    const delivery = await this.webhooks.findDelivery(webhook_id, delivery_id);
    if (delivery === null) throw new AppError('delivery.not_found');
    const kind = delivery.change_id === null ? 'test' : 'retry';
    await this.request(webhook_id, kind, { ...delivery, attempt: delivery.attempt + 1 });
    return this.get(actor, webhook_id);
  }

  /** Returns one page of the attempts of the last seven days. @throws webhook.not_found */
  async listDeliveries(
    actor: Actor,
    webhook_id: string,
    query: ListQuery,
  ): Promise<Page<Answered<WebhookDeliveryResponse>>> {
    await this.read(actor, webhook_id);
    const page = await this.webhooks.listDeliveries(webhook_id, query);
    return { ...page, items: page.items.map(toDeliveryResponse) };
  }

  /**
   * Deletes a webhook. Waits at most 15 seconds for a request that is under way, so that no request
   * is sent after the response.
   * @throws webhook.not_found
   */
  async delete(actor: Actor, webhook_id: string): Promise<void> {
    do {
      await this.stop(actor, webhook_id);
      while (!(await this.webhooks.isIdle(webhook_id))) await delay(pollMs);
    } while (!(await this.remove(actor, webhook_id)));
  }

  /** Disables the webhooks that a user created or changed since a time, after a takeover. */
  async disableMadeSince(actor: Actor, created_by: string, since: Date): Promise<void> {
    await this.recordDisabled(actor, await this.webhooks.disable({ created_by, since }, 'not_me'), 'not_me');
  }

  /** Disables a webhook that fails or whose creator lost rights. Notifies the creator. */
  @Transactional()
  async disableFailed(webhook_id: string, reason: DisabledReason): Promise<void> {
    for (const webhook of await this.disable(systemActor, webhook_id, reason))
      await this.mails.webhookDisabled(webhook.created_by, webhook.url);
  }

  private assertTarget(url: string): void {
    const fault = this.transport.targets.faultOf(url);
    if (fault !== undefined) throw invalid({ pointer: '/url', ...fault });
  }

  @Transactional()
  private async remove(actor: Actor, webhook_id: string): Promise<boolean> {
    const { url, carrier_id } = await this.lock(actor, webhook_id);
    if (!(await this.webhooks.delete(webhook_id))) return false;
    await this.events.record(actor, 'webhook.deleted', { id: webhook_id, carrier_id }, { url: { before: url } });
    return true;
  }

  private async disable(actor: Actor, webhook_id: string, reason: DisabledReason): Promise<DisabledWebhook[]> {
    const disabled = await this.webhooks.disable({ webhook_id }, reason);
    await this.recordDisabled(actor, disabled, reason);
    return disabled;
  }

  private async recordDisabled(actor: Actor, webhooks: DisabledWebhook[], reason: DisabledReason): Promise<void> {
    const changes = { reason: { after: reason } };
    for (const { webhook_id, carrier_id } of webhooks)
      await this.events.record(actor, 'webhook.disabled', { id: webhook_id, carrier_id }, changes);
  }

  private async request(
    webhook_id: string,
    kind: 'test' | 'retry',
    delivery: Parameters<WebhooksRepository['insertRequested']>[3],
  ): Promise<void> {
    if (!(await this.webhooks.insertRequested(webhook_id, newId(), kind, delivery)))
      throw new AppError('request.rate_limited', { detail: 'Too many tests and retries of this webhook are waiting.' });
  }

  private async read(actor: Actor, webhook_id: string): Promise<Answered<WebhookRecord>> {
    const webhook = await this.webhooks.find(webhook_id, actor);
    if (webhook === null) throw new AppError('webhook.not_found');
    return webhook;
  }

  private async lock(actor: Actor, webhook_id: string): Promise<Answered<WebhookRecord>> {
    if (!(await this.webhooks.lock(webhook_id, actor))) throw new AppError('webhook.not_found');
    return this.read(actor, webhook_id);
  }

  private async lockEnabled(actor: Actor, webhook_id: string): Promise<Answered<WebhookRecord>> {
    const webhook = await this.lock(actor, webhook_id);
    if (webhook.state === 'disabled') throw new AppError('webhook.disabled');
    return webhook;
  }
}

/**
 * Rejects settings with which a webhook would send more than the actor may read, because the actor
 * also chooses the target (W9).
 */
function assertMayGive(
  actor: Actor,
  { carrier_scope, include_values }: WebhookSettings,
  owner = actor.user_type,
): void {
  if (owner === 'carrier' && carrier_scope !== null)
    throw invalid({ pointer: '/carrier_scope', code: 'field.not_allowed', detail: 'is for System Users only' });
  assertHolds(actor, 'change:read');
  if (include_values) assertHolds(actor, 'user:read');
  if (carrier_scope !== null && !mayGiveScope(actor, carrier_scope)) throw new AppError('access.grant_exceeds_own');
}

function afterOf(after: string | undefined): ChangesOf<'webhook.enabled'> {
  return after === undefined ? {} : { after: { after } };
}

/** Returns the changed settings. @param before absent = a new webhook */
function changesOf(after: WebhookSettings, before?: WebhookSettings): ChangesOf<'webhook.changed'> {
  const names = Object.keys(after) as (keyof WebhookSettings)[];
  const changed = names.filter((name) => JSON.stringify(before?.[name]) !== JSON.stringify(after[name]));
  return Object.fromEntries(
    changed.map((name) => [name, { ...(before && { before: before[name] }), after: after[name] }]),
  );
}
