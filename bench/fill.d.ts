import type { Client } from 'pg';

/**
 * Fills a migrated database with users. The rows are identical in each run, except for `now`, the
 * end of the two years in which the users were created.
 */
export function fillUsers(client: Client, count: number, now: string | Date): Promise<void>;
