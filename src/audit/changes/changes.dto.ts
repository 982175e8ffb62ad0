import { ApiProperty } from '@nestjs/swagger';
import type { Answered } from '../../platform/times';
import { changedTargets, type TargetType } from '../event-catalogue';

/** A change as the repository reads it. */
export interface ChangeRecord {
  change_id: string;
  tx: string;
  type: string;
  occurred_at: string;
  target_type: TargetType;
  target_id: string;
  carrier_id: string | null;
  version: number | null;
  /** names of the changed fields */
  fields: string[];
  /** new values of a user's changed fields, if they were read */
  values: Record<string, unknown> | null;
}

/** Documents the header `Changes-Cursor` of lists and exports of users. */
export const changesCursorHeader = {
  'Changes-Cursor': 'Value of `after` for `GET /change/list`, taken before the first user was read',
};

/** One change of a user, session, role or API key. */
export class ChangeResponse {
  /** id of the change, the `event_id` of the audit log @example 0192f0c4-2f10-7b6d-8e93-5a4b3c2d1e0f */
  change_id!: string;
  /** what happened, such as `user.changed`. Later versions may add types @example user.changed */
  type!: string;
  /** beginning of the transaction of the change, RFC 3339 */
  occurred_at!: Date;
  /** kind of target */
  @ApiProperty({ enum: changedTargets }) target_type!: (typeof changedTargets)[number];
  /** id of the user, session or API key, or name of the role @example 0192f0c1-8a4e-7c3b-9d52-1f6a7b8c9d0e */
  target_id!: string;
  /** carrier of the user concerned @example acme */
  carrier_id!: string | null;
  /**
   * version of the user after the change. Changes of concurrent transactions to one user can be in
   * either order: keep the highest version and skip lower ones @example 7
   */
  version?: number;
  /** names of the changed fields, without their values @example ["locale"] */
  fields!: string[];
  /**
   * new values of the changed fields of a user, without `attributes`; only with `include=values`
   * @example {"locale": "en-GB"}
   */
  values?: Record<string, unknown>;
}

/** A page of changes. */
export class ChangeListResponse {
  /** in the order of the feed */
  items!: ChangeResponse[];
  /** value of `after` for the next request; never null @example WyI5MTQiLCIwMTkyIl0.mZ4kTq1v */
  next_cursor!: string;
  /**
   * age in seconds, rounded up, of the oldest change that the pages so far do not contain: it is on
   * the next page, or an open transaction holds it back. 0 if there is none @example 0
   */
  behind_seconds!: number;
}

/** Returns the public fields of a change, from an allow-list. */
export function toChangeResponse(record: ChangeRecord, withValues: boolean): Answered<ChangeResponse> {
  const { change_id, type, occurred_at, target_id, carrier_id, version, fields, values } = record;
  const target_type = record.target_type as ChangeResponse['target_type'];
  return {
    ...{ change_id, type, occurred_at, target_type, target_id, carrier_id },
    ...(version === null ? {} : { version }),
    fields,
    ...(withValues && values !== null ? { values } : {}),
  };
}
