import { ExportLinksRepository } from '../../src/users/transfer/export-links.repository';
import { hash, other_id, sqlExamples } from '../support/contract/sql-examples';

export const exportLinks = sqlExamples(ExportLinksRepository, {
  put: [[other_id, hash, { status: 'active' }, 60]],
  take: [[hash]],
  removeExpired: [[]],
});
