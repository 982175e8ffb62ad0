import { TextField, TimeField } from '../../http/fields/fields';
import { PageResponse } from '../../http/lists/page.dto';
import { addressForm } from '../../platform/text-forms';
import type { AddressBlockEntity } from './address-block.entity';

const networkForm = { min: 2, max: 49, pattern: addressForm, form: 'must be an IP address or a CIDR' };

/** A new address block. */
export class CreateAddressBlockRequest {
  /** IP address or CIDR; at most a /8 of IPv4 or a /32 of IPv6 */
  @TextField({ ...networkForm, example: '203.0.113.0/24' }) network!: string;
  /** why the network is blocked, for other operators; up to 200 characters */
  @TextField({ optional: true, nullable: true, max: 200, example: 'Password spraying' }) reason?: string | null;
  /** end of the block, RFC 3339; in the future, at most 30 days ahead */
  @TimeField({ example: '2026-11-21T13:00:00Z' }) expires_at!: string;
}

/** An address block. */
export class AddressBlockResponse {
  /** UUIDv7 @example 0192f0c5-4a3b-7c2d-9e1f-8d9eafb0c1d2 */
  address_block_id!: string;
  /** CIDR @example 203.0.113.0/24 */
  network!: string;
  /** why the network is blocked @example Password spraying */
  reason!: string | null;
  /** time of creation, RFC 3339 in UTC */
  created_at!: Date;
  /** user or API key that created the block */
  created_by!: string;
  /** end of the block */
  expires_at!: Date;
}

/** A page of address blocks. */
export class AddressBlockListResponse extends PageResponse {
  /** newest first unless sorted otherwise */
  items!: AddressBlockResponse[];
}

/** Maps a row to its response. */
export function toAddressBlockResponse({
  address_block_id,
  network,
  reason,
  created_at,
  created_by,
  expires_at,
}: AddressBlockEntity): AddressBlockResponse {
  return { address_block_id, network, reason, created_at, created_by, expires_at };
}
