import { rawSql } from '../../http/lists/sql';
import { changedTargets } from '../event-catalogue';

/** Renders whether an event is part of the change feed, for the index of the feed. */
export const isChange = rawSql(`events.target_type in (${changedTargets.map((type) => `'${type}'`).join(', ')})`);
