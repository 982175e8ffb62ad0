import { StatsService } from '../../src/stats/stats.service';
import type { TestService } from './service';

/** Refreshes the figures of the overview, even if a refresh is not due. */
export async function refreshOverview(service: TestService): Promise<void> {
  await service.rows('update overview_refreshes set due_at = now()');
  await service.app.get(StatsService).refresh();
}
