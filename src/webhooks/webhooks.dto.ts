import { changeTypes, type EventType } from '../audit/event-catalogue';
import { BooleanField, IntegerField, TextField, TextListField } from '../http/fields/fields';
import { PageResponse } from '../http/lists/page.dto';
import type { Answered } from '../platform/times';
import { carrierIds } from '../users/users.dto';
import type { DeliveryKind, WebhookDeliveryEntity } from './webhook-delivery.entity';
import type { DisabledReason, WebhookEntity, WebhookState } from './webhook.entity';

const target = {
  min: 1,
  max: 2_048,
  pattern: /^https?:\/\/[^ @#]+$/,
  form: 'must be a URL without user name and fragment',
  example: 'https://billing.example.net/identity',
};
const types = { optional: true, maxItems: changeTypes.length, max: 64, values: changeTypes };
const description = { optional: true, nullable: true, max: 500, example: 'Invoices' };

/** A new webhook. */
export class CreateWebhookRequest {
  /**
   * target of the requests: `https`, port 443 or at least 1024, no user name, no fragment. `http`
   * only for addresses in `WEBHOOK_ALLOWED_NETWORKS`. Up to 2,048 characters
   */
  @TextField(target) url!: string;
  /** purpose of the webhook, up to 500 characters; null = none */
  @TextField(description) description?: string | null;
  /** types of the changes to send; absent or empty = all */
  @TextListField(types) type_in?: EventType[];
  /**
   * carriers that the webhook is limited to; null or absent = the caller's scope. For System Users
   * only
   */
  @TextListField(carrierIds) carrier_scope?: string[] | null;
  /** whether `data` contains `values`, see `GET /change/list`; needs `user:read` @example false */
  @BooleanField({ optional: true, example: false }) include_values?: boolean;
}

/** Changes to a webhook. Absent fields stay unchanged (RFC 7396). */
export class ChangeWebhookRequest {
  /** target of the requests, as in `POST /webhook/create` */
  @TextField({ ...target, optional: true }) url?: string;
  /** purpose of the webhook; null clears it */
  @TextField(description) description?: string | null;
  /** types of the changes to send; empty = all */
  @TextListField(types) type_in?: EventType[];
  /** carriers that the webhook is limited to; null = the scope of its creator */
  @TextListField(carrierIds) carrier_scope?: string[] | null;
  /** whether `data` contains `values`; needs `user:read` */
  @BooleanField({ optional: true, example: false }) include_values?: boolean;
}

const place = { min: 1, max: 512, example: '2026-11-20T13:00:00Z' };

/** Where an enabled webhook continues. */
export class EnableWebhookRequest {
  /** cursor of the change feed, or an RFC 3339 time; absent = where the webhook stopped */
  @TextField({ ...place, optional: true }) after?: string;
}

/** The place after which changes are sent again. */
export class ReplayWebhookRequest {
  /** cursor of the change feed, or an RFC 3339 time; at the earliest, the oldest change is sent */
  @TextField(place) after!: string;
}

/** How long the old secret remains valid. */
export class RotateWebhookSecretRequest {
  /** seconds for which the old secret also signs, 0–604,800 @example 86400 */
  @IntegerField({ min: 0, max: 604_800, example: 86_400 }) keep_old_seconds!: number;
}

/** A webhook. */
export class WebhookResponse {
  /** UUIDv7 @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2 */
  webhook_id!: string;
  /** target of the requests @example https://billing.example.net/identity */
  url!: string;
  /** purpose of the webhook @example Invoices */
  description!: string | null;
  /** types of the changes to send; empty = all */
  type_in!: string[];
  /** carriers that the webhook is limited to; null = the scope of its creator */
  carrier_scope!: string[] | null;
  /** whether `data` contains `values` */
  include_values!: boolean;
  /** `failing`: the last request failed and is retried */
  state!: WebhookState;
  /**
   * why the webhook is disabled. `requested`: by a user; `gone`: response 410; `failed`: three days
   * without success; `creator`: the creator may no longer read what the webhook sends; `not_me`:
   * the creator reported that another person had used the account
   */
  disabled_reason!: DisabledReason | null;
  /** age in seconds of the oldest change after the last delivered change; 0 = none @example 0 */
  behind_seconds!: number;
  /** status code of the last response; null without a response @example 200 */
  last_status!: number | null;
  /** reason of the last failure without a response @example timeout */
  last_error!: string | null;
  /** time of the last request */
  last_attempt_at!: Date | null;
  /** time of the first failure since the last success */
  failing_since!: Date | null;
  /** time of the next attempt; null unless the webhook is failing */
  next_attempt_at!: Date | null;
  /** time until which the old secret also signs */
  old_secret_until!: Date | null;
  /** time of creation, RFC 3339 in UTC */
  created_at!: Date;
  /** user who created the webhook and whose scope limits it */
  created_by!: string;
  /** time of the last change by a user */
  updated_at!: Date;
}

/** A webhook together with a new secret. */
export class WebhookSecretResponse extends WebhookResponse {
  /**
   * verifies signatures (Standard Webhooks 1.0); no other response contains it
   * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
   */
  secret!: string;
}

/** A page of webhooks. */
export class WebhookListResponse extends PageResponse {
  /** newest first unless sorted otherwise */
  items!: WebhookResponse[];
}

/** An attempt to send a request, or a test or retry that is waiting. */
export class WebhookDeliveryResponse {
  /** UUIDv7 @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d3 */
  delivery_id!: string;
  /** why the request was sent */
  kind!: DeliveryKind;
  /** change that was sent, the header `webhook-id`; null for a test */
  change_id!: string | null;
  /** type of the change @example user.changed */
  type!: string;
  /** number of the attempt, beginning with 1 @example 1 */
  attempt!: number;
  /** time of the attempt, or when the test or retry was requested */
  created_at!: Date;
  /** time of the attempt; null while it is waiting */
  attempted_at!: Date | null;
  /** status code of the response; null without a response @example 200 */
  status!: number | null;
  /** reason of the failure if there is no response @example timeout */
  error!: string | null;
  /** milliseconds until the response was received @example 42 */
  duration_ms!: number | null;
  /** body of the request; `values` are not stored @example "{}" */
  request!: string | null;
  /** first 16 KiB of the response @example ok */
  response!: string | null;
}

/** A page of deliveries. */
export class WebhookDeliveryListResponse extends PageResponse {
  /** newest first unless sorted otherwise */
  items!: WebhookDeliveryResponse[];
}

/** A webhook as read from the database. */
export type WebhookRecord = Omit<WebhookEntity, 'secret' | 'old_secret'> & { behind_seconds: number };

/** Returns the public fields of a webhook, from an allow-list. */
export function toWebhookResponse(webhook: Answered<WebhookRecord>): Answered<WebhookResponse> {
  const { webhook_id, url, description: purpose, type_in, carrier_scope, include_values } = webhook;
  const { state, disabled_reason, behind_seconds, last_status, last_error, last_attempt_at } = webhook;
  const { failing_since, next_attempt_at, old_secret_until, created_at, created_by, updated_at } = webhook;
  const settings = { webhook_id, url, description: purpose, type_in, carrier_scope, include_values };
  const result = { last_status, last_error, last_attempt_at, failing_since };
  return {
    ...settings,
    ...{ state, disabled_reason, behind_seconds, ...result },
    next_attempt_at: state === 'failing' ? next_attempt_at : null,
    ...{ old_secret_until, created_at, created_by, updated_at },
  };
}

/** Returns the public fields of a delivery, from an allow-list. */
export function toDeliveryResponse(delivery: Answered<WebhookDeliveryEntity>): Answered<WebhookDeliveryResponse> {
  const { delivery_id, kind, change_id, type, attempt, created_at, attempted_at } = delivery;
  const { status, error, duration_ms, request, response } = delivery;
  return {
    ...{ delivery_id, kind, change_id, type, attempt, created_at, attempted_at },
    ...{ status, error, duration_ms, request, response },
  };
}
