import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { type TestLogin, TestService } from '../support/service';
import { type Forgeries, TokenForger } from '../support/token-forger';
import { encode, es256, forge } from '../support/tokens';

describe('forged access tokens', () => {
  let service: TestService;
  let forger: TokenForger;
  let user: TestLogin;
  let key: KeyObject;
  let header: Record<string, string>;
  let claims: Record<string, unknown>;
  const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });

  beforeAll(async () => {
    service = await TestService.start();
    forger = await TokenForger.make(service);
    ({ user, key, header, claims } = forger);
  });
  afterAll(() => service.close());

  it('J1 alg none: in any spelling, with and without the last dot', async () => {
    const forgeries: Forgeries = {};
    for (const alg of ['none', 'None', 'nOnE', 'NONE', 'none ', '']) {
      const unsigned = `${encode({ ...header, alg })}.${forger.parts[1]}`;
      Object.assign(forgeries, { [`${alg}.`]: `${unsigned}.`, [alg]: unsigned, [`${alg} signed`]: `${unsigned}.${forger.parts[2]}` });
    }
    await forger.assertRefused(forgeries);
  });

  it('J2 null signature: none at all, zeros, those of others', async () => {
    const [head, payload, signature] = forger.parts;
    const order = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex');
    const one = Buffer.concat([Buffer.alloc(31), Buffer.from([1])]);
    const text = `${head}.${payload}`;
    const signatures = {
      empty: '',
      'zero r and s': encode(Buffer.alloc(64)),
      'r and s of one': encode(Buffer.concat([one, one])),
      'order of the curve': encode(Buffer.concat([order, order])),
      'one byte': encode(Buffer.from([0])),
      'cut by a byte': encode(Buffer.from(signature, 'base64url').subarray(0, 63)),
      'longer by a byte': encode(Buffer.concat([Buffer.from(signature, 'base64url'), Buffer.alloc(1)])),
      DER: encode(sign('sha256', Buffer.from(text), { key, dsaEncoding: 'der' })),
      'of the payload alone': es256(payload, key),
      'of another token': service.admin.token.split('.')[2] ?? '',
      'of a stranger': es256(text, stranger.privateKey),
      'SHA-512': sign('sha512', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url'),
      'empty key': createHmac('sha256', '').update(text).digest('base64url'),
    };
    const all = Object.entries(signatures).map(([name, value]) => [name, `${text}.${value}`]);
    const other = encode({ ...claims, sub: service.admin.user_id, sid: service.admin.session_id });
    await forger.assertRefused({
      ...(Object.fromEntries(all) as Forgeries),
      'changed payload': `${head}.${other}.${signature}`,
      'no dots': head,
    });
  });

  it('J3 key confusion: the public key as secret of an HMAC', async () => {
    const { body } = await service.get('/.well-known/jwks.json');
    const published = createPublicKey({ key: body.keys[0], format: 'jwk' });
    const pem = published.export({ type: 'spki', format: 'pem' }).toString();
    const secrets = {
      pem,
      'leading newline': `\n${pem}`,
      'leading space': ` ${pem}`,
      'without the last newline': pem.trimEnd(),
      'without header': pem.split('\n').slice(1, -2).join('\n'),
      'one line': pem.split('\n').slice(1, -2).join(''),
      CRLF: pem.replaceAll('\n', '\r\n'),
      DER: published.export({ type: 'spki', format: 'der' }),
      point: Buffer.concat([Buffer.from(body.keys[0].x, 'base64url'), Buffer.from(body.keys[0].y, 'base64url')]),
      jwk: JSON.stringify(body.keys[0]),
      kid: header['kid'] ?? '',
    };
    const forgeries: Forgeries = {};
    for (const [name, secret] of Object.entries(secrets)) {
      for (const [alg, digest] of [
        ['HS256', 'sha256'],
        ['HS512', 'sha512'],
        ['ES256', 'sha256'],
      ] as const) {
        const text = `${encode({ ...header, alg })}.${forger.parts[1]}`;
        forgeries[`${alg} ${name}`] = `${text}.${createHmac(digest, secret).update(text).digest('base64url')}`;
      }
    }
    await forger.assertRefused(forgeries);
  });

  it('J4 other algorithms: in another case, unknown, several, even when rightly signed', async () => {
    const algorithms = [
      'es256',
      'Es256',
      'ES256 ',
      'ES256K',
      'ES384',
      'ES512',
      'HS256',
      'hs256',
      'HS1',
      'RS256',
      'PS256',
      'EdDSA',
      'Ed25519',
    ];
    const strange = [null, 0, true, ['ES256'], { alg: 'ES256' }, 'ES256\u0000', 'ＥＳ256'];
    const headers = [...algorithms, ...strange].map((alg) => [`alg ${JSON.stringify(alg)}`, { ...header, alg }]);
    const twice = `{"alg":"none","alg":"ES256","typ":"at+jwt","kid":"${header['kid']}"}`;
    const more = { missing: { typ: 'at+jwt', kid: header['kid'] }, twice, empty: {}, 'no object': '"ES256"', 'no JSON': 'ES256' };
    await forger.assertRefused(forger.signedBy(key, { ...Object.fromEntries(headers), ...more }));
    const edwards = generateKeyPairSync('ed25519').privateKey;
    const text = `${encode({ ...header, alg: 'EdDSA' })}.${forger.parts[1]}`;
    await forger.assertRefused({ 'EdDSA by a stranger': `${text}.${sign(null, Buffer.from(text), edwards).toString('base64url')}` });
  });

  it('J5 key id as a path, SQL, URL: found by no lookup, and without delay', async () => {
    const ids: unknown[] = [
      ...['../../dev/null', '../../../../etc/passwd', "' OR 1=1--", "a'||pg_sleep(5)||'", 'http://127.0.0.1:1/key', '', '__proto__'],
      ...['constructor', 'a'.repeat(1_500), null, 0, ['ES256'], {}, { $ne: null }, `${header['kid']} `, header['kid']?.toUpperCase()],
    ];
    const headers = Object.fromEntries(ids.map((kid) => [`kid ${JSON.stringify(kid)}`.slice(0, 60), { ...header, kid }]));
    await forger.assertRefused(forger.signedBy(key, headers));
    await forger.assertRefused(
      forger.signedBy(stranger.privateKey, { ...headers, 'its own': header, 'none at all': { alg: 'ES256', typ: 'at+jwt' } }),
    );
  });

  it('J6 key of the sender: jwk, jku, x5u and x5c are not looked at, and nobody is called', async () => {
    let calls = 0;
    const listener = createServer((_request, response) => {
      calls++;
      response.end(JSON.stringify({ keys: [jwk] }));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => listener.once('listening', resolve));
    const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/jwks.json`;
    const jwk = { ...stranger.publicKey.export({ format: 'jwk' }), kid: 'mine', alg: 'ES256', use: 'sig' };
    const der = stranger.publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
    const ways = {
      jwk: { jwk },
      jku: { jku: url },
      x5u: { x5u: url },
      x5c: { x5c: [der] },
      'kid as URL': { kid: url },
      x5t: { x5t: 'mine' },
    };
    const headers = Object.entries(ways).flatMap(([name, extra]) => [
      [name, { ...header, ...extra }],
      [`${name} without kid`, { alg: 'ES256', typ: 'at+jwt', ...extra }],
    ]);
    await forger.assertRefused(forger.signedBy(stranger.privateKey, Object.fromEntries(headers)));
    await forger.assertRefused(forger.signedBy(key, Object.fromEntries(headers)));
    expect(calls).toBe(0);
    listener.close();
  });

  it('J7 critical extensions that nobody knows', async () => {
    const extensions = {
      unknown: { crit: ['exp2'], exp2: 1 },
      empty: { crit: [] },
      b64: { crit: ['b64'], b64: false },
      wrong: { crit: 'exp' },
    };
    const headers = Object.entries(extensions).map(([name, extra]) => [name, { ...header, ...extra }]);
    await forger.assertRefused(forger.signedBy(key, Object.fromEntries(headers)));
  });

  it('J14 other forms: JSON serialisation, encrypted, nested, unsecured', async () => {
    const [protectedHeader, payload, signature] = forger.parts;
    const flat = JSON.stringify({ protected: protectedHeader, payload, signature });
    const general = JSON.stringify({ payload, signatures: [{ protected: protectedHeader, signature }] });
    const jwe = (head: object) => `${encode(head)}.${encode('key')}.${encode('nonce')}.${encode(Buffer.alloc(512))}.${encode('tag')}`;
    await forger.assertRefused({
      flat,
      general,
      'encoded flat': encode(flat),
      'four parts': `${user.token}.${signature}`,
      'five parts': `${user.token}.${payload}.${signature}`,
      'JWE dir': jwe({ alg: 'dir', enc: 'A256GCM', zip: 'DEF' }),
      'JWE PBES2': jwe({ alg: 'PBES2-HS512+A256KW', enc: 'A256GCM', p2s: 'salt', p2c: 2_147_483_648 }),
      'JWE with our header': jwe(header),
      nested: forge(header, user.token, key),
      'payload no object': forge(header, 'null', key),
      'payload list': forge(header, [claims], key),
      'payload no JSON': forge(header, '{', key),
      'payload not UTF-8': forge(header, Buffer.from([0x7b, 0xff, 0x7d]), key),
    });
  });

  it('J15 encodings: what an encoder would not write is refused, though the bytes are right', async () => {
    const [head, payload, signature] = forger.parts;
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const lastBits = signature.slice(0, -1) + alphabet[alphabet.indexOf(signature.slice(-1)) ^ 1];
    expect(Buffer.from(lastBits, 'base64url').equals(Buffer.from(signature, 'base64url'))).toBe(true);
    const signedOver = (text: string) => `${text}.${es256(text, key)}`;
    const roomy = encode({ ...claims, note: '???>>>' });
    await forger.assertRefused({
      'trailing bits': `${head}.${payload}.${lastBits}`,
      ...{ 'padded header': signedOver(`${head}=.${payload}`), 'padded payload': signedOver(`${head}.${payload}=`) },
      ...{ 'padded signature': `${user.token}==`, 'one more letter': `${user.token}A`, 'two more letters': `${user.token}AA` },
      ...{
        'not url-safe': signedOver(`${head}.${roomy.replaceAll('_', '/').replaceAll('-', '+')}`),
        'line end': signedOver(`${head}.${payload}\n`),
      },
      ...{
        'space inside': signedOver(`${head}. ${payload}`),
        tab: `${head}.\t${payload}.${signature}`,
        'NUL inside': `${user.token}\u0000`,
      },
      ...{ 'ideographic dots': user.token.replaceAll('.', '。'), 'fullwidth dots': user.token.replaceAll('.', '．') },
      ...{ 'escaped dots': user.token.replaceAll('.', '%2E'), 'zero width': `\u200b${user.token}`, quoted: `"${user.token}"` },
      ...{ 'dot before': `.${user.token}`, 'dot behind': `${user.token}.`, dots: '..', comma: `${user.token},${user.token}` },
    });
    expect(roomy).toMatch(/[-_]/);
  });

  it('J17 huge tokens: refused fast, by the header limit beyond 64 KiB', async () => {
    const huge = (length: number) => `${user.token.slice(0, -10)}${'A'.repeat(length)}`;
    await forger.assertRefused({ '8 kB': huge(8_000), '32 kB': huge(32_000), '32 kB of dots': '.'.repeat(32_000) });
    const { port } = await service.listen();
    for (const length of [100_000, 1_000_000]) {
      const began = performance.now();
      const answer = await raw(port, `GET /user HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${'A'.repeat(length)}\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 431 /);
      expect(performance.now() - began).toBeLessThan(2_000);
    }
    expect((await service.get('/user', { token: user.token })).status).toBe(200);
  });
});

/** What comes back on a socket before it is closed. */
function raw(port: number, request: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.on('data', (chunk) => (answer += chunk.toString()));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(answer));
  });
}
