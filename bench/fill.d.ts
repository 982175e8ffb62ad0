import type { Client } from 'pg';

/**
 * Fills a migrated database with users, the same at every run but for `now`, the end of the two
 * years that they were made in.
 */
export function fillUsers(client: Client, count: number, now: string | Date): Promise<void>;
