import { Injectable } from '@nestjs/common';
import type { Scope } from '../access/scope';
import type { Place } from '../audit/changes/change-cursors';
import type { ListQuery } from '../http/lists/list-query';
import { type Page, readPage } from '../http/lists/page';
import { rawSql, sql, type SqlFragment } from '../http/lists/sql';
import { Database } from '../platform/database/database';
import type { Answered } from '../platform/times';
import { deliveryListSql, secondsBehind, visibleWebhooks, webhookListSql } from './webhook-list.sql';
import type { WebhookDeliveryEntity } from './webhook-delivery.entity';
import type { DisabledReason, WebhookEntity } from './webhook.entity';
import type { WebhookRecord } from './webhooks.dto';

const columns = sql`
  webhooks.webhook_id, webhooks.url, webhooks.description, webhooks.type_in, webhooks.carrier_scope,
  webhooks.include_values, webhooks.user_type, webhooks.carrier_id, webhooks.created_by, webhooks.created_at,
  webhooks.updated_at, webhooks.state, webhooks.disabled_reason,
  case when webhooks.old_secret_until > now() then webhooks.old_secret_until end as old_secret_until,
  webhooks.failures, webhooks.failing_since, webhooks.next_attempt_at, webhooks.last_attempt_at,
  webhooks.last_status, webhooks.last_error,
  coalesce(ceil(greatest(0, ${secondsBehind})), 0)::integer as behind_seconds`;

/** Maximum number of webhooks of the users of a carrier. */
const ofCarrierMax = 20;
/** Maximum number of tests and retries of a webhook that wait. */
const requestedMax = 20;

/** Settings of a webhook that a user may change. */
export type WebhookSettings = Pick<
  WebhookEntity,
  'url' | 'description' | 'type_in' | 'carrier_scope' | 'include_values'
>;

/** The values of a new webhook. */
export type NewWebhook = WebhookSettings &
  Pick<WebhookEntity, 'webhook_id' | 'user_type' | 'carrier_id' | 'created_by' | 'secret'>;

/** The SQL of webhooks as users see them. */
@Injectable()
export class WebhooksRepository {
  constructor(private readonly database: Database) {}

  /** Inserts a webhook. Returns false if there are too many, or if the session has ended (R40). */
  async insert(webhook: NewWebhook, place: Place, session_id: string | null, max: number): Promise<boolean> {
    const { webhook_id, url, description, type_in, carrier_scope, include_values } = webhook;
    const { user_type, carrier_id, created_by, secret } = webhook;
    const rows = await this.database.run(sql`
      insert into webhooks (
        webhook_id, url, description, type_in, carrier_scope, include_values,
        user_type, carrier_id, created_by, secret, place_tx, place_id, place_at
      )
      select
        ${webhook_id}::uuid, ${url}::text, ${description}::text, ${type_in}::text[], ${carrier_scope}::text[],
        ${include_values}::boolean, ${user_type}::text, ${carrier_id}::text, ${created_by}::uuid,
        ${secret}::bytea, ${place.tx}::text, ${place.event_id}::uuid, ${place.at}::timestamptz
      from sessions
      where sessions.session_id = ${session_id}::uuid and sessions.ended_at is null
        and (select count(*) from webhooks) < ${max}::integer
        and (
          select count(*)
          from webhooks
          where carrier_id = ${carrier_id}::text
        ) < ${ofCarrierMax}::integer
      for no key update of sessions
      returning webhook_id`);
    return rows.length > 0;
  }

  /** Returns a webhook within the scope, or null. */
  async find(webhook_id: string, scope: Scope): Promise<Answered<WebhookRecord> | null> {
    const [row] = await this.database.answers.run<Answered<WebhookRecord>>(sql`
      select ${columns}
      from webhooks
      where webhooks.webhook_id = ${webhook_id}::uuid and ${visibleWebhooks(scope)}`);
    return row ?? null;
  }

  /** Locks a webhook within the scope. Returns false if there is none. */
  async lock(webhook_id: string, scope: Scope): Promise<boolean> {
    const rows = await this.database.run(sql`
      select webhook_id
      from webhooks
      where webhooks.webhook_id = ${webhook_id}::uuid and ${visibleWebhooks(scope)}
      for no key update`);
    return rows.length > 0;
  }

  /** Returns one page of the webhooks within a scope that match a query. */
  list(scope: Scope, query: ListQuery): Promise<Page<Answered<WebhookRecord>>> {
    const source = { ...webhookListSql, columns, visible: visibleWebhooks(scope) };
    return readPage<Answered<WebhookRecord>>(this.database.answers, source, query);
  }

  async update(webhook_id: string, settings: WebhookSettings, changed_by: string): Promise<void> {
    const { url, description, type_in, carrier_scope, include_values } = settings;
    await this.database.run(sql`
      update webhooks
      set
        url = ${url}::text,
        description = ${description}::text,
        type_in = ${type_in}::text[],
        carrier_scope = ${carrier_scope}::text[],
        include_values = ${include_values}::boolean,
        changed_by = ${changed_by}::uuid,
        updated_at = now()
      where webhook_id = ${webhook_id}::uuid`);
  }

  /** Disables webhooks that are not disabled, and returns them. */
  disable(selected: SqlSelection, reason: DisabledReason): Promise<DisabledWebhook[]> {
    return this.database.run<DisabledWebhook>(sql`
      update webhooks
      set state = 'disabled', disabled_reason = ${reason}::text, updated_at = now()
      where ${'webhook_id' in selected ? sql`webhook_id = ${selected.webhook_id}::uuid` : madeSince(selected)}
        and state <> 'disabled'
      returning webhook_id, url, carrier_id, created_by`);
  }

  /** Enables a webhook and resets its failures. @param place null = where it stopped */
  async enable(webhook_id: string, place: Place | null, changed_by: string): Promise<void> {
    await this.database.run(sql`
      update webhooks
      set
        state = 'active',
        disabled_reason = null,
        failures = 0,
        failing_since = null,
        next_attempt_at = now(),
        ${place === null ? sql`` : movedTo(place)}
        changed_by = ${changed_by}::uuid,
        updated_at = now()
      where webhook_id = ${webhook_id}::uuid`);
  }

  /** Replaces the secret. The old secret also signs for a number of seconds. */
  async updateSecret(webhook_id: string, secret: Buffer, keep_old_seconds: number, changed_by: string): Promise<void> {
    await this.database.run(sql`
      update webhooks
      set
        old_secret = case when ${keep_old_seconds}::integer > 0 then secret end,
        old_secret_until = case
          when ${keep_old_seconds}::integer > 0 then now() + ${keep_old_seconds}::integer * interval '1 second'
        end,
        secret = ${secret}::bytea,
        changed_by = ${changed_by}::uuid,
        updated_at = now()
      where webhook_id = ${webhook_id}::uuid`);
  }

  /** Returns the place of the last delivered change. */
  findPlace(webhook_id: string): Promise<Place | null> {
    return this.database.find<Place>(sql`
      select place_tx as tx, place_id as event_id, place_at as at
      from webhooks
      where webhook_id = ${webhook_id}::uuid`);
  }

  /** Returns the change of the last attempt, tests and retries excluded. */
  async findLastSent(webhook_id: string): Promise<string | null> {
    const [row] = await this.database.run<{ change_id: string }>(sql`
      select change_id
      from webhook_deliveries
      where webhook_id = ${webhook_id}::uuid and kind = 'change'
      order by created_at desc, delivery_id desc
      limit 1`);
    return row?.change_id ?? null;
  }

  /** Returns whether no process sends requests of a webhook. */
  async isIdle(webhook_id: string): Promise<boolean> {
    const rows = await this.database.run(sql`
      select webhook_id
      from webhooks
      where webhook_id = ${webhook_id}::uuid and claimed_until > now()`);
    return rows.length === 0;
  }

  /** Deletes a webhook. Returns false if it was enabled or claimed meanwhile. */
  async delete(webhook_id: string): Promise<boolean> {
    const rows = await this.database.run(sql`
      delete from webhooks
      where webhook_id = ${webhook_id}::uuid
        and state = 'disabled'
        and (claimed_until is null or claimed_until <= now())
      returning webhook_id`);
    return rows.length > 0;
  }

  listDeliveries(webhook_id: string, query: ListQuery): Promise<Page<Answered<WebhookDeliveryEntity>>> {
    const source = {
      ...deliveryListSql,
      columns: rawSql('deliveries.*'),
      visible: sql`deliveries.webhook_id = ${webhook_id}::uuid`,
    };
    return readPage<Answered<WebhookDeliveryEntity>>(this.database.answers, source, query);
  }

  findDelivery(webhook_id: string, delivery_id: string): Promise<RequestedDelivery | null> {
    return this.database.find<RequestedDelivery>(sql`
      select change_id, type, attempt
      from webhook_deliveries
      where delivery_id = ${delivery_id}::uuid and webhook_id = ${webhook_id}::uuid`);
  }

  /** Requests a test or a retry. Returns false if too many are waiting. */
  async insertRequested(
    webhook_id: string,
    delivery_id: string,
    kind: 'test' | 'retry',
    { change_id, type, attempt }: RequestedDelivery,
  ): Promise<boolean> {
    const rows = await this.database.run(sql`
      insert into webhook_deliveries (delivery_id, webhook_id, kind, change_id, type, attempt)
      select
        ${delivery_id}::uuid, ${webhook_id}::uuid, ${kind}::text, ${change_id}::uuid, ${type}::text, ${attempt}::integer
      where (
        select count(*)
        from webhook_deliveries
        where webhook_id = ${webhook_id}::uuid and attempted_at is null
      ) < ${requestedMax}::integer
      returning delivery_id`);
    return rows.length > 0;
  }

  listSecrets(): Promise<Pick<WebhookEntity, 'webhook_id' | 'secret' | 'old_secret'>[]> {
    return this.database.run(sql`
      select webhook_id, secret, old_secret
      from webhooks`);
  }

  /** Replaces an encrypted secret unless it has changed since. */
  async updateEncryption(webhook_id: string, before: Buffer, secret: Buffer, old_secret: Buffer | null): Promise<void> {
    await this.database.run(sql`
      update webhooks
      set secret = ${secret}::bytea, old_secret = ${old_secret}::bytea
      where webhook_id = ${webhook_id}::uuid and secret = ${before}::bytea`);
  }
}

/** Webhooks to disable: one, or those that a user created or changed since a time. */
export type SqlSelection = { webhook_id: string } | { created_by: string; since: Date };

/** A webhook that was disabled. */
export type DisabledWebhook = Pick<WebhookEntity, 'webhook_id' | 'url' | 'carrier_id' | 'created_by'>;

/** What a test or retry sends. */
export type RequestedDelivery = Pick<WebhookDeliveryEntity, 'change_id' | 'type' | 'attempt'>;

function madeSince({ created_by, since }: { created_by: string; since: Date }): SqlFragment {
  return sql`(
    (created_by = ${created_by}::uuid and created_at >= ${since}::timestamptz)
    or (changed_by = ${created_by}::uuid and updated_at >= ${since}::timestamptz)
  )`;
}

function movedTo({ tx, event_id, at }: Place): SqlFragment {
  return sql`place_tx = ${tx}::text, place_id = ${event_id}::uuid, place_at = ${at}::timestamptz,`;
}
