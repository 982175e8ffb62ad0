import type { Actor } from '../../access/actor';
import { ConfirmTokens, type PreviewedRequest } from './confirm-tokens';

describe('confirm tokens', () => {
  const secret = 'a secret of the service, long enough';
  const tokens = new ConfirmTokens(secret);
  const confirmation = { confirm_id: 'an-id', expires_at: 1, count: 3, digest: 'abc' };
  const previewed: PreviewedRequest = {
    actor: { actor_type: 'user', user_id: 'one' } as Actor,
    kind: 'change',
    filters: { carrier_id: 'c1', status: 'active' },
    change: { locale: 'fr', attributes: { x: { a: 1 } } },
  };
  const token = tokens.mint(confirmation, previewed);
  const rejection = expect.objectContaining({
    code: 'request.invalid',
    extras: { errors: [expect.objectContaining({ parameter: 'confirm_token', code: 'parameter.malformed' })] },
  });

  it('returns the confirmation to the same request, with keys in any order', () => {
    const filters = { status: 'active', carrier_id: 'c1' };
    expect(tokens.read(token, { ...previewed, filters })).toEqual(confirmation);
  });

  const others: [string, Partial<PreviewedRequest>][] = [
    ['another user', { actor: { actor_type: 'user', user_id: 'two' } as Actor }],
    ['an API key with the id of the user', { actor: { actor_type: 'key', user_id: 'one' } as Actor }],
    ['another method', { kind: 'delete' }],
    ['another value of a filter', { filters: { carrier_id: 'c2', status: 'active' } }],
    ['another filter', { filters: { carrier_id_in: 'c1', status: 'active' } }],
    ['fewer filters', { filters: { carrier_id: 'c1' } }],
    ['all users', { filters: { everyone: 'true' } }],
    ['another value', { change: { locale: 'de', attributes: { x: { a: 1 } } } }],
    ['no value', { change: { locale: null, attributes: { x: { a: 1 } } } }],
    ['fewer fields', { change: { locale: 'fr' } }],
    ['a list instead of an object', { change: { locale: 'fr', attributes: { x: [['a', 1]] } } }],
  ];
  it.each(others)('rejects a token for %s (B5)', (_title, other) => {
    expect(() => tokens.read(token, { ...previewed, ...other })).toThrow(rejection as Error);
  });

  it('rejects a token with one changed or missing character, and any other text (B5)', () => {
    const other = (character: string) => (character === 'A' ? 'B' : 'A');
    const places = [...token].map((_, place) => [token.slice(0, place), token[place] ?? '', token.slice(place + 1)]);
    const wrong = [
      ...places.map(([before, at = '', after]) => `${before}${other(at)}${after}`),
      ...places.map(([before, , after]) => `${before}${after}`),
      ...['', 'a', '.', 'a.b', `${token}.`, `${token}A`, `${token}.${token}`, token.toUpperCase()],
    ];
    for (const text of wrong) expect(() => tokens.read(text, previewed)).toThrow(rejection as Error);
  });

  it('rejects a token that was signed with another secret (B5)', () => {
    const foreign = new ConfirmTokens(`${secret}!`).mint(confirmation, previewed);
    expect(() => tokens.read(foreign, previewed)).toThrow(rejection as Error);
  });
});
