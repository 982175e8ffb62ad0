import { ApiProperty } from '@nestjs/swagger';
import { namedEnum } from '../../platform/named-enum';

/** Whether a total is exact or an estimate. */
const relations = namedEnum('CountRelation', ['eq', 'approx']);

/** Number of rows that match the filter. */
export class PageTotalResponse {
  /** number of rows @example 1234 */
  value!: number;
  /** `eq` for an exact number, `approx` for an estimate of the planner */
  @ApiProperty({ enum: relations }) relation!: (typeof relations)[number];
}

/** Fields of every page besides its items. */
export class PageResponse {
  /** requested number of rows @example 50 */
  per_page!: number;
  /** number of the page, only for requests with `page` @example 1 */
  page?: number;
  /** value of `cursor` for the next page; null on the last page @example eyJzIjoiY3JlYXRlZF9hdCJ9.mZ4kTq1v */
  next_cursor!: string | null;
  /** number of rows that match the filter; null with `count=none` */
  total!: PageTotalResponse | null;
}
