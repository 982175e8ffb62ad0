/** Number of rows that match the filter. */
export class PageTotalResponse {
  /** number of rows */
  value!: number;
  /** `eq` for an exact number, `approx` for an estimate of the planner */
  relation!: 'eq' | 'approx';
}

/** Fields of every page besides its items. */
export class PageResponse {
  /** requested number of rows */
  per_page!: number;
  /** number of the page, only for requests with `page` */
  page?: number;
  /** value of `cursor` for the next page; null on the last page */
  next_cursor!: string | null;
  /** number of rows that match the filter; null with `count=none` */
  total!: PageTotalResponse | null;
}
