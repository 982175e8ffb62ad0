import { loadConfig } from './config';
import { isPasskeyOrigin, isRpId } from './webauthn';

const appSecret = 'test-secret-0123456789-abcdefghijklmnop';

it.each(['example.net', 'identity.example.net', 'localhost', 'xn--mnchen-3ya.example', '1password.example'])(
  'accepts the RP id %s',
  (text) => expect(isRpId(text)).toBe(true),
);

it.each([
  '192.0.2.7',
  '[::1]',
  '::1',
  '127.1',
  '0x7f000001',
  'Example.net',
  'example.net:443',
  'https://a.b',
  '.net',
  '',
])('rejects the RP id "%s"', (text) => expect(isRpId(text)).toBe(false));

it.each(['https://portal.example.net', 'https://portal.example.net:8443', 'http://localhost:5173'])(
  'accepts the passkey origin %s',
  (text) => expect(isPasskeyOrigin(text)).toBe(true),
);

it.each([
  'http://portal.example.net',
  'https://192.0.2.7',
  'https://[::1]',
  'https://portal.example.net/',
  'https://user@portal.example.net',
  'https://:443',
  'null',
  '*',
])('rejects the passkey origin %s', (text) => expect(isPasskeyOrigin(text)).toBe(false));

it.each([
  [{}, 'localhost', ['http://localhost:3000']],
  [{ PUBLIC_URL: 'https://Identity.Example.net:443' }, 'identity.example.net', ['https://identity.example.net']],
  [
    {
      PUBLIC_URL: 'https://identity.example.net',
      WEBAUTHN_RP_ID: 'example.net',
      WEBAUTHN_ORIGINS: 'https://portal.example.net, http://localhost:5173',
    },
    'example.net',
    ['https://portal.example.net', 'http://localhost:5173'],
  ],
  [{ PUBLIC_URL: 'https://192.0.2.7', WEBAUTHN_RP_ID: 'example.net' }, 'example.net', ['https://192.0.2.7']],
])('derives the RP id and the passkey origins of %j', (environment, WEBAUTHN_RP_ID, WEBAUTHN_ORIGINS) => {
  const config = loadConfig({ APP_SECRET: appSecret, ...environment });
  expect(config).toMatchObject({ WEBAUTHN_RP_ID, WEBAUTHN_ORIGINS, warnings: [] });
});

it.each(['http://127.0.0.1:3000', 'https://[2001:db8::1]', 'https://192.0.2.7'])(
  'turns passkeys off at %s, and warns about it',
  (PUBLIC_URL) => {
    const config = loadConfig({ APP_SECRET: appSecret, PUBLIC_URL });
    expect(config.WEBAUTHN_RP_ID).toBeNull();
    expect(config.warnings).toEqual([expect.stringMatching(/^Passkeys are off: /)]);
  },
);
