import { randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { matchingStep } from './totp';

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
