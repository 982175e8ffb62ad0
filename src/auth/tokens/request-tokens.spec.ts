import { accessTokenFrom, clientCredentialsFrom, findAccessToken } from './request-tokens';

/** Returns a request with headers as Node parses them. */
function requestWith(...rawHeaders: string[]) {
  const headers: Record<string, string> = {};
  for (let at = 0; at < rawHeaders.length; at += 2) headers[rawHeaders[at]!.toLowerCase()] ??= rawHeaders[at + 1]!;
  return { headers, raw: { rawHeaders } };
}

describe('the access token of a request', () => {
  it.each([
    [['Authorization', 'Bearer abc'], 'abc'],
    [['authorization', 'bearer  abc'], 'abc'],
    [['X-Auth-Token', 'abc'], 'abc'],
    [['Authorization', 'Bearer abc', 'X-Auth-Token', 'abc'], 'abc'],
    [['Authorization', 'Basic abc'], null],
    [['Authorization', 'Bearer a b'], null],
    [['Authorization', 'x Bearer abc'], null],
    [['Authorization', 'Bearerabc'], null],
    [['X-Auth-Token', ''], null],
    [[], null],
  ])('in %j is %j', (headers, token) => {
    expect(accessTokenFrom(requestWith(...headers))).toBe(token);
    expect(findAccessToken(requestWith(...headers))).toBe(token);
  });

  it.each([
    [['Authorization', 'Bearer abc', 'authorization', 'Bearer abc']],
    [['X-Auth-Token', 'abc', 'x-auth-token', 'abc']],
    [['Authorization', 'Bearer abc', 'X-Auth-Token', 'abd']],
    [['Authorization', 'Basic abc', 'X-Auth-Token', 'abc']],
    [['Authorization', 'Bearer abc', 'X-Auth-Token', '']],
  ])('in %j is rejected', (headers) => {
    expect(() => accessTokenFrom(requestWith(...headers))).toThrow('auth.token_invalid');
    expect(findAccessToken(requestWith(...headers))).toBeNull();
  });
});

describe('client credentials', () => {
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
  const none = { client_id: '', client_secret: '' };

  it.each<[string | undefined, object | null, object | null]>([
    [basic('id:secret'), null, { client_id: 'id', client_secret: 'secret' }],
    [basic('i%64:%73'), { client_secret: 'x' }, { client_id: 'id', client_secret: 's' }],
    [basic('id').replace('Basic', 'BASIC  '), null, { ...none, client_id: 'id' }],
    [basic('%'), null, none],
    [basic(''), { client_secret: 'x' }, null],
    [`x ${basic('id:s')}`, null, null],
    ['Basic a===', null, null],
    [undefined, { client_id: 'id', client_secret: 's' }, { client_id: 'id', client_secret: 's' }],
    [undefined, { client_secret: 's' }, { client_id: '', client_secret: 's' }],
    [undefined, { client_id: 'id' }, null],
    [undefined, null, null],
  ])('in the header %j and the form %j are %j', (authorization, body, credentials) => {
    expect(clientCredentialsFrom({ headers: { authorization }, body })).toEqual(credentials);
  });
});
