/** How many rows the filter finds. */
export class PageTotalResponse {
  /** number of rows */
  value!: number;
  /** `eq` when counted, `approx` when estimated by the planner */
  relation!: 'eq' | 'approx';
}

/** What every page has besides its items. */
export class PageResponse {
  /** rows asked for */
  per_page!: number;
  /** number of the page, in page mode only */
  page?: number;
  /** give it as `cursor` for the next page; null on the last */
  next_cursor!: string | null;
  /** number of rows the filter finds; null with `count=none` */
  total!: PageTotalResponse | null;
}
