import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A request with an `Idempotency-Key`: its reservation, later its response. */
@Entity('idempotency_keys')
@Check('idempotency_keys_actor_type_check', `actor_type in ('user', 'key')`)
@Index('idempotency_keys_created_at_idx', ['created_at'])
export class IdempotencyKeyEntity {
  /** id of the caller; a user and an API key may have the same id, see `actor_type` */
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'idempotency_keys_pkey' }) user_id!: string;
  @Column('text') actor_type!: 'user' | 'key';
  /** scope of the caller at the first request; null in rows of versions that did not store it */
  @Column('text', { nullable: true }) actor_scope!: string | null;
  @PrimaryColumn('text', { primaryKeyConstraintName: 'idempotency_keys_pkey' }) method!: string;
  @PrimaryColumn('text', { primaryKeyConstraintName: 'idempotency_keys_pkey' }) path!: string;
  /** hashed, because keys chosen by callers may contain names or addresses */
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'idempotency_keys_pkey' }) key_hash!: Buffer;
  /** hash of query and body; null while a streamed body is being read */
  @Column('bytea', { nullable: true }) request_hash!: Buffer | null;
  /** id of the reservation; changes if an expired reservation is taken over */
  @Column('uuid') claim_id!: string;
  /** expiry of the reservation */
  @Column({ type: 'timestamptz', precision: 3 }) claimed_until!: Date;
  /** HTTP status of the response; null while there is no response */
  @Column('integer', { nullable: true }) status!: number | null;
  /** body or error; null until there is a response, and after a user in it was purged */
  @Column('json', { nullable: true }) answer!: unknown;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) created_at!: Date;
}
