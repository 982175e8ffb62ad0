import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * A key that signs access tokens from `signs_from` until its successor signs. The private key is
 * encrypted with a key derived from `APP_SECRET`.
 */
@Entity('signing_keys')
export class SigningKeyEntity {
  /** RFC 7638 thumbprint */
  @PrimaryColumn('text', { primaryKeyConstraintName: 'signing_keys_pkey' }) kid!: string;
  @Column('jsonb') public_jwk!: Record<string, unknown>;
  /** AES-256-GCM: 12 bytes nonce, 16 bytes tag, ciphertext of the PKCS #8 key */
  @Column('bytea') private_key!: Buffer;
  /** time of publication */
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) created_at!: Date;
  @Column({ type: 'timestamptz', precision: 3, default: () => 'now()' }) signs_from!: Date;
}
