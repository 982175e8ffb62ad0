import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn, Unique } from 'typeorm';
import type { FactorKind } from '../../access/actor';

/**
 * A second factor of a user: an authenticator app (TOTP, RFC 6238) or a passkey (WebAuthn).
 * A trigger copies the kinds of the confirmed factors to `users.second_factors`.
 */
@Entity('second_factors')
@Check(
  'second_factors_kind_check',
  `(kind = 'totp' and secret is not null and credential_id is null)
      or (
        kind = 'passkey' and secret is null and credential_id is not null and public_key is not null
        and signature_counter is not null and rp_id is not null and backup_eligible is not null
        and confirmed_at is not null
      )`,
)
@Unique('second_factors_credential_id_key', ['credential_id'])
@Index('second_factors_user_id_idx', ['user_id'])
@Index('second_factors_unconfirmed_idx', ['created_at'], { where: 'confirmed_at is null' })
export class SecondFactorEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'second_factors_pkey' }) factor_id!: string;
  @ForeignKey('users', 'user_id', { name: 'second_factors_user_id_fkey', onDelete: 'CASCADE' })
  @Column('uuid')
  user_id!: string;
  @Column('text') kind!: FactorKind;
  /** name that the user gave the factor */
  @Column('text') name!: string;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) created_at!: Date;
  /** null until the first right code; an unconfirmed factor expires after 10 minutes */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) confirmed_at!: Date | null;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) last_used_at!: Date | null;
  /** wrong codes at the confirmation; too many delete the factor */
  @Column('integer', { default: 0 }) wrong_codes!: number;
  /** encrypted secret of an authenticator app, which begins with the id of the key */
  @Column('bytea', { nullable: true }) secret!: Buffer | null;
  /** id that the authenticator gave the passkey */
  @Column('bytea', { nullable: true }) credential_id!: Buffer | null;
  /** public key of the passkey in COSE form (RFC 9052) */
  @Column('bytea', { nullable: true }) public_key!: Buffer | null;
  /** last signature counter of the passkey; 0 if the authenticator has none */
  @Column('bigint', { nullable: true }) signature_counter!: string | null;
  /** transports of the passkey, such as `internal` or `usb` */
  @Column('text', { array: true, nullable: true }) transports!: string[] | null;
  /** RP id that the passkey was created for */
  @Column('text', { nullable: true }) rp_id!: string | null;
  /** model of the authenticator; null if it is not disclosed */
  @Column('uuid', { nullable: true }) aaguid!: string | null;
  /** whether the passkey may be copied to other devices; then its `amr` is `swk`, not `hwk` */
  @Column('boolean', { nullable: true }) backup_eligible!: boolean | null;
}
