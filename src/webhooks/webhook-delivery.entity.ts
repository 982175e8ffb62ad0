import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { namedEnum } from '../platform/named-enum';

/** Why a request is sent: a change of the feed, a test, or the retry of a delivery. */
export const deliveryKinds = namedEnum('WebhookDeliveryKind', ['change', 'test', 'retry']);
/** Why a request is sent. */
export type DeliveryKind = (typeof deliveryKinds)[number];

/** An attempt to send a request of a webhook, or a test or retry that is waiting. */
@Entity('webhook_deliveries')
@Check('webhook_deliveries_kind_check', `kind in ('change', 'test', 'retry')`)
@Index('webhook_deliveries_created_at_idx', ['webhook_id', 'created_at', 'delivery_id'])
@Index('webhook_deliveries_requested_idx', ['webhook_id'], { where: 'attempted_at is null' })
export class WebhookDeliveryEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'webhook_deliveries_pkey' }) delivery_id!: string;
  /** no foreign key: deliveries are removed by their age */
  @Column('uuid') webhook_id!: string;
  @Column('text') kind!: DeliveryKind;
  /** null for a test */
  @Column('uuid', { nullable: true }) change_id!: string | null;
  @Column('text') type!: string;
  /** number of the attempt, beginning with 1 */
  @Column('integer') attempt!: number;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) created_at!: Date;
  /** null while the request is waiting */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) attempted_at!: Date | null;
  @Column('integer', { nullable: true }) status!: number | null;
  @Column('text', { nullable: true }) error!: string | null;
  @Column('integer', { nullable: true }) duration_ms!: number | null;
  /** body of the request without `values`, which are not stored */
  @Column('text', { nullable: true }) request!: string | null;
  /** first 16 KiB of the response */
  @Column('text', { nullable: true }) response!: string | null;
}
