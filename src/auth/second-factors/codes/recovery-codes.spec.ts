import { hashToken } from '../../../platform/random';
import { hashRecoveryCode, mintRecoveryCodes } from './recovery-codes';

const codes = mintRecoveryCodes();
const [code = ''] = codes;

it('mints ten different codes in groups of four characters', () => {
  expect(codes.filter((one) => /^([A-Z2-7]{4}-){5}[A-Z2-7]{4}$/.test(one))).toHaveLength(10);
  expect(new Set(codes).size).toBe(10);
  expect(hashRecoveryCode(code)).toEqual(hashToken(code.replaceAll('-', '')));
});

it.each([
  ['lower case', code.toLowerCase()],
  ['no separators', code.replaceAll('-', '')],
  ['spaces', ` ${code.replaceAll('-', ' ')}\n`],
])('returns the same hash of a code with %s (M7)', (_title, text) => {
  expect(hashRecoveryCode(text)).toEqual(hashRecoveryCode(code));
});

it.each(['', ' ', '-', 'A'.repeat(23), 'A'.repeat(25), '0'.repeat(24), 'Ａ'.repeat(24), '\u0000'])(
  'returns no hash of %j (M7)',
  (text) => expect(hashRecoveryCode(text)).toBeNull(),
);
