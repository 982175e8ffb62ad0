import { PageResponse } from '../http/lists/page.dto';
import type { ListSpec } from '../http/lists/list-query';

/** Filters and sort fields of the list of carriers. */
export const carrierList: ListSpec = {
  name: 'carriers',
  filter: { selects: 'carrier', fields: { carrier_id: { type: 'text', meaning: 'Id of the carrier' } } },
  sorts: { carrier_id: { type: 'text' } },
  defaultSort: 'carrier_id',
  defaultDirection: 'asc',
};

/** Numbers of users, without deleted users. */
export class CarrierUsersResponse {
  /** number of users of any status @example 120 */
  total!: number;
  /** number of `invited` users, who have no password yet @example 5 */
  invited!: number;
  /** number of `active` users @example 112 */
  active!: number;
  /** number of `disabled` users @example 3 */
  disabled!: number;
}

/** A carrier that has users. */
export class CarrierResponse {
  /** id of the carrier @example c-1042 */
  carrier_id!: string;
  /** numbers of its users */
  users!: CarrierUsersResponse;
}

/** A page of carriers. */
export class CarrierListResponse extends PageResponse {
  /** in the order of their ids */
  items!: CarrierResponse[];
}
