import { hashToken } from '../../platform/random';
import { RefreshTokens } from './refresh-token';

const [secret, other] = ['test-secret-0123456789-abcdefghijklmnop', 'other-secret-0123456789-abcdefghijklmno'];
const session_id = '0191f0a0-1234-7000-8000-0123456789ab';
const [tokens, others, rotating] = [
  new RefreshTokens(secret),
  new RefreshTokens(other),
  new RefreshTokens(other, secret),
];
const token = tokens.mint(session_id);

it('returns the session of its own tokens, also while APP_SECRET changes', () => {
  expect(token).toMatch(/^[A-Za-z0-9_-]{86}$/);
  expect(tokens.mint(session_id)).not.toBe(token);
  const readers = [tokens, others, rotating];
  expect(readers.map((reader) => reader.sessionOf(token))).toEqual([session_id, null, session_id]);
  expect(readers.map((reader) => reader.sessionOf(rotating.mint(session_id)))).toEqual([null, session_id, session_id]);
});

it('returns no session of an altered token', () => {
  for (let at = 0; at < token.length; at++) {
    const altered = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`;
    expect([at, tokens.sessionOf(altered)]).toEqual([at, null]);
  }
  // The last character has four unused bits.
  const last = token.at(-1) ?? '';
  const same = String.fromCharCode(last.charCodeAt(0) + 1);
  for (const text of [
    '',
    token.slice(1),
    `${token}A`,
    `A${token}`,
    `${token}=`,
    ` ${token}`,
    token.slice(0, -1) + same,
  ])
    expect([text, tokens.sessionOf(text)]).toEqual([text, null]);
});

it('returns the same successor each time, and finds it by its hash under either secret', () => {
  const successor = tokens.successor(token);
  expect(tokens.successor(token)).toBe(successor);
  expect([tokens.sessionOf(successor), successor === token]).toEqual([session_id, false]);
  const found = [tokens, others, rotating].map((reader) => reader.successorWith(hashToken(successor), token));
  expect(found).toEqual([successor, null, successor]);
});

it('keeps the tokens of earlier releases valid', () => {
  const earlier = 'AZHwoBI0cACAAAEjRWeJq385t2ghN_aBKKE-5d_UNwPu74fr6jbT2sHt4xSDQqo86Tb4jtrwa_SPC4b0frC3gQ';
  const successor = 'AZHwoBI0cACAAAEjRWeJqwRXAu_pDoZBtyoUENQXWkpvhIsGNp8o6xm2XNTk3VW9z6X5unRbKUTRKQMfghgVXg';
  expect([tokens.sessionOf(earlier), tokens.successor(earlier)]).toEqual([session_id, successor]);
});
