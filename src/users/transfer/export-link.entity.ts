import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import type { RawQuery } from '../../http/lists/filter';

/**
 * The unused link of a session to an export. A newer link replaces the row, and a use deletes it.
 * Only the hash of the token is stored.
 */
@Entity('export_links')
@Index('export_links_token_hash_key', ['token_hash'], { unique: true })
export class ExportLinkEntity {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'export_links_pkey' })
  @ForeignKey('sessions', 'session_id', { name: 'export_links_session_id_fkey', onDelete: 'CASCADE' })
  session_id!: string;
  /** SHA-256 of the token */
  @Column('bytea') token_hash!: Buffer;
  /** query of the export: its filters and options */
  @Column('jsonb') query!: RawQuery;
  @Column({ type: 'timestamptz', precision: 3 }) expires_at!: Date;
}
