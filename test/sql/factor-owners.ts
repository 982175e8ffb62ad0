import { eventBase } from '../../src/audit/event-base';
import { FactorOwnersRepository } from '../../src/auth/second-factors/factor-owners.repository';
import { administrator, named, other_id, sqlExamples, user_id } from '../support/contract/sql-examples';

const event = named('eventBase', eventBase(administrator, 'factor.reset'));

export const factorOwners = sqlExamples(FactorOwnersRepository, {
  lock: [[user_id, other_id]],
  recordResets: [[event, [{ user_id, changes: { kinds: { before: ['totp'], after: [] } } }]]],
});
