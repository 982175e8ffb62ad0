import { text } from 'node:stream/consumers';
import { exportColumns } from '../../src/users/transfer/files/transfer-columns';
import { UsersExportRepository } from '../../src/users/transfer/users-export.repository';
import { lastNameLike, limited, named, operation_id, sqlExamples } from '../support/contract/sql-examples';

const signal = named('signal', new AbortController().signal);
const users = { conditions: [lastNameLike], holder: 'example', columns: exportColumns, delimiter: ',' };

export const usersExport = sqlExamples(
  UsersExportRepository,
  {
    open: [[{ format: 'csv', scope: limited, hashes_unless_roles: null, ...users }, signal]],
    openSkipped: [['example', operation_id, signal]],
  },
  ({ texts }) => text(texts),
);
