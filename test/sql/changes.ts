import { changeFilter } from '../../src/audit/changes/change-query';
import { nilId } from '../../src/audit/changes/change-cursors';
import { ChangesRepository } from '../../src/audit/changes/changes.repository';
import { parseConditions } from '../../src/http/lists/filter';
import { administrator, limited, sqlExamples, user_id } from '../support/contract/sql-examples';

const after = { tx: '700', event_id: nilId, at: new Date(0) };
const until = { ...after, tx: '900' };

export const changes = sqlExamples(ChangesRepository, {
  reads: [[null]],
  findEnd: [[]],
  findStart: [[after, null]],
  findStop: [[{ after, until }]],
  list: [
    [administrator, [], { after, until, limit: 101 }],
    [limited, parseConditions({ type_in: 'user.changed,session.ended' }, changeFilter), { after, until, limit: 101 }],
  ],
  find: [[limited, user_id]],
});
