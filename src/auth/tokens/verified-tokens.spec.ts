import { currentTime, secondsOf } from '../../platform/clock';
import { VerifiedTokens } from './verified-tokens';

it('keeps the 20,000 most recent tokens, each until it expires (J17)', () => {
  const tokens = new VerifiedTokens({} as never, { version: 1 } as never, {} as never, {} as never);
  const now = secondsOf(currentTime());
  const claims = { exp: now + 3_600 } as never;
  tokens.remember('expired', { exp: now } as never);
  tokens.remember('live', claims);
  expect([tokens.find('expired'), tokens.find('live')]).toEqual([null, claims]);
  for (let index = 0; index < 20_000; index++) tokens.remember(`token-${index}`, claims);
  expect([tokens.find('live'), tokens.find('token-0')]).toEqual([null, claims]);
});
