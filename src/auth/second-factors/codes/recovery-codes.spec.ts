import { hashRecoveryCode, mintRecoveryCodes } from './recovery-codes';

const [code = ''] = mintRecoveryCodes();

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
