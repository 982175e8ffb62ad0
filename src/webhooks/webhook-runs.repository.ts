import { Injectable } from '@nestjs/common';
import type { Place } from '../audit/changes/change-cursors';
import { isChange } from '../audit/changes/changes.sql';
import { rawSql, sql, type SqlFragment } from '../http/lists/sql';
import { Database } from '../platform/database/database';
import type { WebhookDeliveryEntity } from './webhook-delivery.entity';
import { secondsBehind } from './webhook-list.sql';
import type { WebhookEntity, WebhookState } from './webhook.entity';

/** A webhook whose requests this process sends. */
export type ClaimedWebhook = Pick<
  WebhookEntity,
  | 'webhook_id'
  | 'url'
  | 'type_in'
  | 'carrier_scope'
  | 'include_values'
  | 'created_by'
  | 'updated_at'
  | 'state'
  | 'secret'
  | 'old_secret'
  | 'place_tx'
  | 'place_id'
  | 'place_at'
  | 'failures'
  | 'claimed_by'
> & {
  /** whether changes may be sent now: no failed attempt waits for its retry */
  is_due: boolean;
  /** seconds since the first failure after the last success */
  failing_seconds: number;
};

/** A test or retry that waits. */
export type WaitingDelivery = Pick<WebhookDeliveryEntity, 'delivery_id' | 'kind' | 'change_id' | 'attempt'>;

/** An attempt to send a request. */
export type Attempt = Pick<
  WebhookDeliveryEntity,
  'delivery_id' | 'change_id' | 'type' | 'status' | 'error' | 'duration_ms' | 'request' | 'response'
>;

/** Number of webhooks in a state, and the age of the oldest change that one of them has to send. */
export interface WebhookCount {
  state: WebhookState;
  count: number;
  behind_seconds: number;
}

/** Longer than the time limit of a request. Each attempt renews the claim. */
const claim = rawSql(`now() + interval '15 seconds'`);
const claimed = rawSql(`
  webhooks.webhook_id, webhooks.url, webhooks.type_in, webhooks.carrier_scope, webhooks.include_values,
  webhooks.created_by, webhooks.updated_at, webhooks.state, webhooks.secret,
  case when webhooks.old_secret_until > now() then webhooks.old_secret end as old_secret,
  webhooks.place_tx, webhooks.place_id, webhooks.place_at, webhooks.failures, webhooks.claimed_by,
  webhooks.next_attempt_at <= now() as is_due,
  coalesce(extract(epoch from now() - webhooks.failing_since), 0)::float8 as failing_seconds`);
const isWaiting = rawSql(`exists (
            select 1
            from webhook_deliveries
            where webhook_deliveries.webhook_id = webhooks.webhook_id and webhook_deliveries.attempted_at is null
          )`);

/** The SQL of sending the requests of webhooks. */
@Injectable()
export class WebhookRunsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Claims webhooks with something to send: changes of finished transactions, tests or retries.
   * Webhooks that waited longest come first. Writes nothing if there are none. Each claim has its
   * own id, so that a run whose claim has expired cannot disturb the next one.
   * @param free number of webhooks of each state to claim
   */
  claim(free: { active: number; failing: number }): Promise<ClaimedWebhook[]> {
    return this.database.runPrepared<ClaimedWebhook>(sql`
      with
      last as (
        select events.tx, events.event_id
        from events
        where ${isChange} and events.tx < (select feed_horizon())
        order by events.tx desc, events.event_id desc
        limit 1
      ),
      active as (${dueSql('active', free.active)}),
      failing as (${dueSql('failing', free.failing)})
      update webhooks
      set claimed_by = gen_random_uuid(), claimed_until = ${claim}
      from (select webhook_id from active union all select webhook_id from failing) due
      where webhooks.webhook_id = due.webhook_id
      returning ${claimed}`);
  }

  /** Lists the waiting tests and retries of a webhook, oldest first. */
  listWaiting(webhook_id: string): Promise<WaitingDelivery[]> {
    return this.database.run<WaitingDelivery>(sql`
      select delivery_id, kind, change_id, attempt
      from webhook_deliveries
      where webhook_id = ${webhook_id}::uuid and attempted_at is null
      order by delivery_id
      limit 20`);
  }

  /**
   * Records the attempt to send a change. After a success, moves the webhook to the change and
   * renews the claim. After a failure, schedules the next attempt and ends the claim.
   * Returns the webhook as it is now, or null if it was deleted, moved or changed, or the claim has
   * expired: then the attempt is not recorded.
   * @param retry_seconds null = success
   */
  recordChange(
    webhook: ClaimedWebhook,
    place: Place,
    attempt: Attempt,
    retry_seconds: number | null,
  ): Promise<ClaimedWebhook | null> {
    const isDone = retry_seconds === null;
    const outcome = isDone
      ? sql`
        place_tx = ${place.tx}::text,
        place_id = ${place.event_id}::uuid,
        place_at = ${place.at}::timestamptz,
        failures = 0,
        failing_since = null,
        state = case when state = 'disabled' then state else 'active' end,
        claimed_until = ${claim},`
      : sql`
        failures = failures + 1,
        failing_since = coalesce(failing_since, now()),
        state = case when state = 'disabled' then state else 'failing' end,
        next_attempt_at = now() + ${retry_seconds}::float8 * interval '1 second',
        claimed_until = null,`;
    return this.database.findPrepared<ClaimedWebhook>(sql`
      with moved as (
        update webhooks
        set
          ${outcome}
          last_attempt_at = now(),
          last_status = ${attempt.status}::integer,
          last_error = ${attempt.error}::text
        where webhook_id = ${webhook.webhook_id}::uuid
          and claimed_by = ${webhook.claimed_by}::uuid
          and place_tx = ${webhook.place_tx}::text
          and place_id = ${webhook.place_id}::uuid
          and updated_at = ${webhook.updated_at}::timestamptz
        returning ${claimed}
      ),
      delivery as (
        insert into webhook_deliveries (
          delivery_id, webhook_id, kind, change_id, type, attempt,
          attempted_at, status, error, duration_ms, request, response
        )
        select
          ${attempt.delivery_id}::uuid, webhook_id, 'change', ${attempt.change_id}::uuid,
          ${attempt.type}::text, ${webhook.failures + 1}::integer,
          now(), ${attempt.status}::integer, ${attempt.error}::text, ${attempt.duration_ms}::integer,
          ${attempt.request}::text, ${attempt.response}::text
        from moved
      )
      select *
      from moved`);
  }

  /** Records the attempt of a test or retry, and renews the claim. Returns the webhook, or null. */
  recordRequested({ webhook_id, claimed_by }: ClaimedWebhook, attempt: Attempt): Promise<ClaimedWebhook | null> {
    return this.database.find<ClaimedWebhook>(sql`
      with delivery as (
        update webhook_deliveries
        set
          attempted_at = now(),
          status = ${attempt.status}::integer,
          error = ${attempt.error}::text,
          duration_ms = ${attempt.duration_ms}::integer,
          request = ${attempt.request}::text,
          response = ${attempt.response}::text
        where delivery_id = ${attempt.delivery_id}::uuid
      )
      update webhooks
      set
        claimed_until = ${claim},
        last_attempt_at = now(),
        last_status = ${attempt.status}::integer,
        last_error = ${attempt.error}::text
      where webhook_id = ${webhook_id}::uuid and claimed_by = ${claimed_by}::uuid
      returning ${claimed}`);
  }

  /** Renews the claim. Returns the webhook, or null if it was deleted, or the claim has expired. */
  renew({ webhook_id, claimed_by }: ClaimedWebhook): Promise<ClaimedWebhook | null> {
    return this.database.find<ClaimedWebhook>(sql`
      update webhooks
      set claimed_until = ${claim}
      where webhook_id = ${webhook_id}::uuid and claimed_by = ${claimed_by}::uuid
      returning ${claimed}`);
  }

  /**
   * Ends the claim on a webhook. Moves it to a place before which nothing is left to send, unless a
   * user has moved or changed it meanwhile.
   */
  async release(webhook: ClaimedWebhook, place?: Place): Promise<void> {
    const { webhook_id, claimed_by, place_tx, place_id, updated_at } = webhook;
    const moved = sql`
        place_tx = ${place?.tx ?? null}::text,
        place_id = ${place?.event_id ?? null}::uuid,
        place_at = ${place?.at ?? null}::timestamptz,`;
    const isUnchanged = sql`and place_tx = ${place_tx}::text
        and place_id = ${place_id}::uuid
        and updated_at = ${updated_at}::timestamptz`;
    const rows = await this.database.runPrepared(sql`
      update webhooks
      set
        ${place === undefined ? sql`` : moved}
        claimed_until = null
      where webhook_id = ${webhook_id}::uuid and claimed_by = ${claimed_by}::uuid
        ${place === undefined ? sql`` : isUnchanged}
      returning webhook_id`);
    if (rows.length === 0 && place !== undefined) await this.release(webhook);
  }

  /** Counts the webhooks of each state. */
  count(): Promise<WebhookCount[]> {
    return this.database.run<WebhookCount>(sql`
      select
        state,
        count(*)::integer as count,
        coalesce(max(${secondsBehind}), 0)::float8 as behind_seconds
      from webhooks
      group by state`);
  }

  /**
   * Removes a batch of deliveries that are older than a number of days or exceed a number per
   * webhook. Returns the number of removed deliveries, or null if none was left.
   */
  async removeOld(days: number, perWebhook: number, batch: number): Promise<number | null> {
    // Ids begin with their time (UUIDv7), so that the primary key finds the oldest.
    const rows = await this.database.run(sql`
      delete from webhook_deliveries
      where delivery_id in (
        (
          select delivery_id
          from webhook_deliveries
          where delivery_id < rpad(
            lpad(to_hex((extract(epoch from now()) * 1000)::bigint - ${days}::bigint * 86400000), 12, '0'), 32, '0'
          )::uuid
          limit ${batch}::integer
        )
        union all
        (
          select surplus.delivery_id
          from webhooks
          cross join lateral (
            select delivery_id
            from webhook_deliveries
            where webhook_id = webhooks.webhook_id
            order by created_at desc, delivery_id desc
            limit ${batch}::integer offset ${perWebhook}::integer
          ) surplus
          limit ${batch}::integer
        )
      )
      returning delivery_id`);
    return rows.length === 0 ? null : rows.length;
  }
}

function dueSql(state: WebhookState, limit: number): SqlFragment {
  return sql`
        select webhooks.webhook_id
        from webhooks
        where webhooks.state = ${state}::text
          and (webhooks.claimed_until is null or webhooks.claimed_until <= now())
          and (
            (
              webhooks.next_attempt_at <= now()
              and (webhooks.place_tx::xid8, webhooks.place_id) < (select tx, event_id from last)
            )
            or ${isWaiting}
          )
        order by webhooks.last_attempt_at nulls first
        limit ${limit}::integer
        for no key update of webhooks skip locked`;
}
