import { useCallback, useEffect, useMemo, useState } from 'react';
import { useLocation, useSearchParams } from 'react-router';
import type { FilterFields } from '../filter/conditions';
import { filtersIn, knownValues, queryOf, withChanges } from './list-values';

/** Rows per page to choose from. */
export const pageSizes = ['25', '50', '100'] as const;
const sizeKey = 'per_page';
/** The chosen size is remembered for all lists. */
const storageKey = 'carrier-identity-rows';
const sizeOf = (text: string | null) => pageSizes.find((size) => size === text);

/** The filter, order and page of a list. The URL contains all but the cursor. */
export interface ListParams<Query> {
  /** query of the API for the current page */
  query: Query;
  /** parameters of the URL: conditions, `q`, order and extras */
  values: Record<string, string>;
  /** Sets or removes (null) parameters, and returns to the first page. */
  set: (changes: Record<string, string | null>) => void;
  /** whether a condition or a search is set */
  isFiltered: boolean;
  /** Removes all conditions and the search. */
  clear: () => void;
  /** number of the current page, from 0 */
  page: number;
  /** rows per page */
  perPage: number;
  /** Changes the rows per page of this list, and of lists opened later. */
  setPerPage: (size: string) => void;
  next: (cursor: string) => void;
  previous: () => void;
}

interface ListOptions {
  /** parameters that are not filters, such as `deleted` */
  extras?: readonly string[];
  /** parameters of every request, such as `count` */
  fixed?: Record<string, string>;
}

const none: readonly string[] = [];

/** Last filter and order of each list, by path. */
const lastSearches = new Map<string, string>();

/**
 * Cursors of the pages up to the current one, by entry of the browser's history: the back button
 * returns to the page that the user left.
 */
const cursors = new Map<string, string[]>();

/** Returns the path of a list with its last filter and order. */
export const pathAsLastSeen = (path: string): string => `${path}${lastSearches.get(path) ?? ''}`;

/**
 * Keeps the filter and order of a list in the URL. Ignores unknown parameters, so that old links
 * still work.
 * @typeParam Query query of the operation, such as `QueryOf<'listUsers'>`
 */
export function useListParams<Query extends object>(
  fields: FilterFields,
  { extras = none, fixed }: ListOptions = {},
): ListParams<Query> {
  const [search, setSearch] = useSearchParams();
  const { pathname, search: shown, key: entry } = useLocation();
  useEffect(() => void lastSearches.set(pathname, shown), [pathname, shown]);
  const text = search.toString();
  const values = useMemo(() => knownValues(new URLSearchParams(text), fields, extras), [text, fields, extras]);
  const [, show] = useState<string[]>([]);
  const stack = cursors.get(entry) ?? [];
  const turnTo = (pages: string[]) => {
    cursors.set(entry, pages);
    show(pages);
  };
  const set = useCallback(
    (changes: Record<string, string | null>) =>
      setSearch((current) => withChanges(current, changes), { replace: true }),
    [setSearch],
  );
  const filterNames = filtersIn(values);
  const cursor = stack.at(-1);
  const perPage = Number(sizeOf(search.get(sizeKey)) ?? sizeOf(localStorage.getItem(storageKey)) ?? pageSizes[0]);
  return {
    query: { ...queryOf(values), ...fixed, per_page: perPage, ...(cursor === undefined ? {} : { cursor }) } as Query,
    values,
    set,
    isFiltered: filterNames.length > 0,
    clear: () => set(Object.fromEntries(filterNames.map((name) => [name, null]))),
    page: stack.length,
    perPage,
    setPerPage: (size) => {
      localStorage.setItem(storageKey, size);
      set({ [sizeKey]: size });
    },
    next: (following) => turnTo([...stack, following]),
    previous: () => turnTo(stack.slice(0, -1)),
  };
}
