import { randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { describeTotp, matchingStep } from './totp';

const step = 59_000_000;
const secret = randomBytes(20);
const codeAt = (at: number) =>
  TOTP.generate({ secret: new Secret({ buffer: Uint8Array.from(secret).buffer }), timestamp: at * 30_000 });

it.each([
  [-3, null],
  [-2, null],
  [-1, step - 1],
  [0, step],
  [1, step + 1],
  [2, null],
  [3, null],
])('compares the codes of the steps around the current one: %i (M6)', (offset, matching) => {
  expect(matchingStep(secret, codeAt(step + offset), step)).toBe(matching);
});

it.each(['12345', '1234567', '123 456', ' 123456', '１２３４５６', '١٢٣٤٥٦', '12345\n', '-12345', '1e5000', ''])(
  'rejects the code %j',
  (code) => expect(matchingStep(secret, code, step)).toBeNull(),
);

it('describes a secret to an authenticator app', () => {
  const { base32 } = new Secret({ buffer: Uint8Array.from(secret).buffer });
  const uri = `otpauth://totp/Carrier:ada?issuer=Carrier&secret=${base32}&algorithm=SHA1&digits=6&period=30`;
  expect(describeTotp(secret, 'Carrier', 'ada')).toEqual({ secret: base32, otpauth_uri: uri });
});
