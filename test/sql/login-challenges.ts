import { LoginChallengesRepository } from '../../src/auth/login/login-challenges.repository';
import { hashToken } from '../../src/platform/random';
import { named, sqlExamples, user_id } from '../support/contract/sql-examples';

const hash = named('hash', hashToken('example'));
const challenge = named('challenge', {
  challenge_hash: hashToken('example'),
  user_id,
  password_changed_at: null,
  counter_address: '192.0.2.1',
  renewal: null,
  token_grant: null,
  ip: '192.0.2.1',
  user_agent: 'curl/8.5.0',
});

export const loginChallenges = sqlExamples(LoginChallengesRepository, {
  insert: [[challenge]],
  find: [[hash]],
  countWrong: [[hash]],
  end: [[hash]],
  delete: [[hash]],
  deleteAll: [[]],
  endOf: [[[user_id]]],
  takeExpired: [[1_000]],
});
