import { sessionList } from '../../src/auth/sessions/session-list';
import { SessionsRepository } from '../../src/auth/sessions/sessions.repository';
import { listQuery } from '../support/contract/list-queries';
import { hash, limited, named, other_id, sqlExamples, user_id } from '../support/contract/sql-examples';

const session = named('session', {
  session_id: other_id,
  user_id,
  user_type: 'carrier' as const,
  carrier_id: 'c1',
  refresh_token_hash: hash,
  ip: '192.0.2.1',
  user_agent: 'curl/8',
  amr: ['pwd'],
  auth_time: new Date('2026-11-01T00:00:00Z'),
  token_grant: null,
  idle_seconds: 3_600,
  absolute_seconds: 86_400,
});
const like = { kind: 'field', field: 'user_agent', operator: 'like', value: 'firefox' } as const;

export const sessions = sqlExamples(SessionsRepository, {
  insert: [[session]],
  reauthenticate: [[other_id, ['otp', 'mfa']]],
  replaceGrant: [[other_id, null, { permissions: ['user:read'] }]],
  find: [[other_id, { scope: limited, others: true }]],
  list: [[{ scope: limited, others: true }, listQuery(sessionList, { active: 'true', carrier_id: 'c1' })]],
  withAgents: [[[like]]],
  rotate: [[other_id, hash, hash, { system: 1_800, carrier: 3_600 }]],
  findRotatedWithin: [[other_id, hash, new Date('2026-11-01T00:00:00Z'), 30]],
  removeOld: [[90, 100]],
});
