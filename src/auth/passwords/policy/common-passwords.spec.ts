import { dictionary } from '@zxcvbn-ts/language-common';
import fc from 'fast-check';
import { isCommon } from './common-passwords';

/** A text of up to 16 characters, also outside the basic plane. */
const unit = fc
  .string({ unit: 'grapheme-composite', minLength: 1, maxLength: 8 })
  .filter((text) => [...text].length <= 16);

describe('the rule against common passwords', () => {
  it('matches every listed password, and runs of neighbouring keys, digits and letters in any case (P4)', async () => {
    const listed = dictionary['passwords-common'].filter((word) => word.length >= 8);
    expect(listed.length).toBeGreaterThanOrEqual(3_000);
    const runs = ['qwertyuiopasdfghjklzxcvbnm', '1qaz2wsx3edc4rfv', '987654321098765', 'abcdefghijklmno'];
    const accepted: string[] = [];
    for (const word of [...listed, ...runs, 'PASSWORDpassword', 'Qwertyuiopasdfg'])
      if (!(await isCommon(word))) accepted.push(word);
    expect(accepted).toEqual([]);
  });

  it('matches a text of up to 16 characters that is repeated three times, with any rest of it', async () => {
    const repeated = fc.tuple(unit, fc.integer({ min: 3, max: 8 }), fc.nat(15));
    await fc.assert(
      fc.asyncProperty(repeated, async ([text, times, rest]) => {
        const password = text.repeat(times) + [...text].slice(0, rest).join('');
        expect([password, await isCommon(password)]).toEqual([password, true]);
      }),
    );
    for (const password of [
      'p4ssw0rd!'.repeat(7),
      'K7#qz!m2Vx9$Lp4&'.repeat(3),
      'aB3$xAb3$X'.repeat(2),
      'ΑΣ'.repeat(8),
    ])
      expect([password, await isCommon(password)]).toEqual([password, true]);
  });

  it('matches no other text, and no longer text that is repeated', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uuid(), fc.integer({ min: 1, max: 4 }), async (text, times) => {
        const password = text.repeat(times);
        expect([password, await isCommon(password)]).toEqual([password, false]);
      }),
    );
    for (const password of ['correct horse battery staple', 'tidy-Walrus-tidy-Walrus-7', 'K7#qz!m2Vx9$Lp4&'.repeat(2)])
      expect([password, await isCommon(password)]).toEqual([password, false]);
  });
});
