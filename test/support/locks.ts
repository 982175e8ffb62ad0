import type { TestService } from './service';
import { until } from './until';

/** Waits until at least this number of connections wait for a lock. */
export async function lockWaits(service: Pick<TestService, 'rows'>, count = 1): Promise<void> {
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await until(async () => (await service.rows(waiting)).length >= count, 120_000);
}
