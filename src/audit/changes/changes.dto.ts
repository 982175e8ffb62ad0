import { ApiProperty } from '@nestjs/swagger';
import type { Answered } from '../../platform/times';
import { changedTargets } from '../event-catalogue';
import type { Place } from './change-cursors';

/** A change as the repository reads it. */
export interface ChangeRecord {
  change_id: string;
  tx: string;
  type: string;
  occurred_at: string;
  target_type: ChangeResponse['target_type'];
  target_id: string;
  carrier_id: string | null;
  version: number | null;
  /** names of the changed fields */
  fields: string[];
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
  /** version of the user after the change, if the change recorded it @example 7 */
  version?: number;
  /** names of the changed fields, without their values @example ["locale"] */
  fields!: string[];
  /**
   * the user as `GET /user/{user_id}` shows it now, without `attributes` and `last_login_ip`. Only
   * with `include=values`, and only if the user is not deleted
   * @example {"name": "ada", "locale": "en-GB"}
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
   * age in seconds of the oldest change that is still to come, rounded up; 0 if there is none. The
   * change is on the next page, or an open transaction holds it back @example 0
   */
  behind_seconds!: number;
}

/** Returns the place of a change in the feed. */
export function placeOf({ tx, change_id, occurred_at }: ChangeRecord): Place {
  return { tx, event_id: change_id, at: new Date(occurred_at) };
}

/** Returns the public fields of a change, from an allow-list. @param values the user, if read */
export function toChangeResponse(record: ChangeRecord, values?: object): Answered<ChangeResponse> {
  const { change_id, type, occurred_at, target_type, target_id, carrier_id, version, fields } = record;
  return {
    ...{ change_id, type, occurred_at, target_type, target_id, carrier_id },
    ...(version === null ? {} : { version }),
    fields,
    ...(values === undefined ? {} : { values: { ...values } }),
  };
}
