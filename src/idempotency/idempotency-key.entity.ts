import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A request with an `Idempotency-Key`: first who works on it, then how it was answered. */
@Entity('idempotency_keys')
@Check('idempotency_keys_actor_type_check', `actor_type in ('user', 'key')`)
@Index('idempotency_keys_created_at_idx', ['created_at'])
export class IdempotencyKeyEntity {
  /**
   * id of the user or API key that called; a user and a key may have the same id, see `actor_type`
   */
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'idempotency_keys_pkey' }) user_id!: string;
  @Column('text') actor_type!: 'user' | 'key';
  /** scope of the caller at the first request; null in rows of versions that did not store it */
  @Column('text', { nullable: true }) actor_scope!: string | null;
  @PrimaryColumn('text', { primaryKeyConstraintName: 'idempotency_keys_pkey' }) method!: string;
  @PrimaryColumn('text', { primaryKeyConstraintName: 'idempotency_keys_pkey' }) path!: string;
  /** callers make keys of what they like, names and addresses too */
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'idempotency_keys_pkey' }) key_hash!: Buffer;
  /** what query and body were; null as long as a streamed body is being read */
  @Column('bytea', { nullable: true }) request_hash!: Buffer | null;
  /** whoever works on it; another one once its lease was over and it was taken over */
  @Column('uuid') claim_id!: string;
  @Column({ type: 'timestamptz', precision: 3 }) claimed_until!: Date;
  /** null as long as there is no answer */
  @Column('integer', { nullable: true }) status!: number | null;
  /** null as long as there is no answer, and again when it mentioned a user who was purged */
  @Column('json', { nullable: true }) answer!: unknown;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) created_at!: Date;
}
