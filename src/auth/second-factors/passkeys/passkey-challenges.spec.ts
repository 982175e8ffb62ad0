import { type ChallengeUse, PasskeyChallenges } from './passkey-challenges';

const APP_SECRET = 'test-secret-0123456789-abcdefghijklmnop';
const other = 'other-secret-0123456789-abcdefghijklmno';
const use: ChallengeUse = { purpose: 'second_factor', user_id: 'u1', context: 'login challenge' };
const database = { history: 'one' };
const challenges = new PasskeyChallenges({ APP_SECRET }, database);

afterEach(() => jest.useRealTimers());

it('opens a challenge for the use that it was signed for, with its expiry', () => {
  jest.useFakeTimers({ now: new Date('2026-11-20T13:00:00.000Z') });
  const opened = challenges.open(challenges.sign(use), use);
  expect(opened?.expires_at).toEqual(new Date('2026-11-20T13:05:00.000Z'));
  expect(opened?.hash).toHaveLength(32);
});

it('signs a different challenge each time', () => {
  expect(challenges.sign(use)).not.toBe(challenges.sign(use));
});

it.each<[string, ChallengeUse]>([
  ['purpose', { ...use, purpose: 'login' }],
  ['user', { ...use, user_id: 'u2' }],
  ['context', { ...use, context: 'other' }],
  ['missing user', { ...use, user_id: null }],
])('rejects a challenge for another %s', (_what, wrong) => {
  expect(challenges.open(challenges.sign(use), wrong)).toBeNull();
});

it('rejects a challenge after 5 minutes', () => {
  jest.useFakeTimers({ now: 0 });
  const challenge = challenges.sign(use);
  jest.setSystemTime(299_999);
  expect(challenges.open(challenge, use)).not.toBeNull();
  jest.setSystemTime(300_000);
  expect(challenges.open(challenge, use)).toBeNull();
});

it.each(['', '.', 'e30', 'e30.AAAA', 'e30.AAAAAAAAAAAAAAAAAAAAAA', '.'.repeat(500), '\u0000', 'ä.ö'])(
  'rejects the forged challenge %j',
  (challenge) => expect(challenges.open(challenge, use)).toBeNull(),
);

it('accepts challenges of the previous secret, and no others', () => {
  const challenge = new PasskeyChallenges({ APP_SECRET: other }, database).sign(use);
  expect(challenges.open(challenge, use)).toBeNull();
  const rotating = new PasskeyChallenges({ APP_SECRET, APP_SECRET_PREVIOUS: other }, database);
  expect(rotating.open(challenge, use)).not.toBeNull();
  expect(rotating.open(challenges.sign(use), use)).not.toBeNull();
  expect(rotating.open('e30.AAAA', use)).toBeNull();
});
