import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { UserType } from '../access/actor';
import { namedEnum } from '../platform/named-enum';

/** State of a webhook. `failing`: the last request failed and is retried. */
export const webhookStates = namedEnum('WebhookState', ['active', 'failing', 'disabled']);
/** State of a webhook. */
export type WebhookState = (typeof webhookStates)[number];

/** Reason why a webhook is disabled. */
export const disabledReasons = namedEnum('WebhookDisabledReason', ['requested', 'gone', 'failed', 'creator', 'not_me']);
/** Reason why a webhook is disabled. */
export type DisabledReason = (typeof disabledReasons)[number];

/**
 * A webhook and its place in the change feed. A process claims a webhook before it sends. The claim
 * expires, so that another process continues after a crash.
 */
@Entity('webhooks')
@Check(
  'webhooks_state_check',
  `state in ('active', 'failing', 'disabled') and (state = 'disabled') = (disabled_reason is not null)`,
)
@Index('webhooks_created_at_idx', ['created_at', 'webhook_id'])
export class WebhookEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'webhooks_pkey' }) webhook_id!: string;
  @Column('text') url!: string;
  @Column('text', { nullable: true }) description!: string | null;
  /** types of the changes to send; empty = all */
  @Column('text', { array: true }) type_in!: string[];
  /** carriers that the webhook is limited to; null = the scope of its creator */
  @Column('text', { array: true, nullable: true }) carrier_scope!: string[] | null;
  @Column('boolean') include_values!: boolean;
  /** user type of the creator */
  @Column('text') user_type!: UserType;
  /** carrier of the creator, if it is a Carrier User */
  @Column('text', { nullable: true }) carrier_id!: string | null;
  /** no foreign key: the audit log still names the creator after a purge */
  @Column('uuid') created_by!: string;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) created_at!: Date;
  /** time of the last change by a user, not of a delivery */
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) updated_at!: Date;
  /** actor of the last change; null before the first one */
  @Column('uuid', { nullable: true }) changed_by!: string | null;
  @Column('text', { default: 'active' }) state!: WebhookState;
  @Column('text', { nullable: true }) disabled_reason!: DisabledReason | null;
  /** encrypted, see `WebhookSecrets` */
  @Column('bytea') secret!: Buffer;
  @Column('bytea', { nullable: true }) old_secret!: Buffer | null;
  /** time until which the old secret also signs */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) old_secret_until!: Date | null;
  /** transaction of the last delivered change; text, because TypeORM does not know `xid8` */
  @Column('text') place_tx!: string;
  /** id of the last delivered change */
  @Column('uuid') place_id!: string;
  @Column({ type: 'timestamptz', precision: 3 }) place_at!: Date;
  /** number of failed attempts in a row */
  @Column('integer', { default: 0 }) failures!: number;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) failing_since!: Date | null;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) next_attempt_at!: Date;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) last_attempt_at!: Date | null;
  @Column('integer', { nullable: true }) last_status!: number | null;
  @Column('text', { nullable: true }) last_error!: string | null;
  /** process that sends the requests of the webhook */
  @Column('uuid', { nullable: true }) claimed_by!: string | null;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) claimed_until!: Date | null;
}
