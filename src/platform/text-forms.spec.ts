import fc from 'fast-check';
import { isIP } from 'node:net';
import { addressForm, visibleText } from './text-forms';

const everyCharacter = Array.from({ length: 0x110000 }, (_, code) => String.fromCodePoint(code)).filter((text) =>
  text.isWellFormed(),
);
const joiners = ['\u200c', '\u200d', '\ufe0e', '\ufe0f'];

describe('visible text', () => {
  it('rejects exactly the characters that control, reorder or hide text, alone and within a word (I18)', () => {
    // U+FEFD, U+FEFE and U+FF00 are unassigned.
    const hidden =
      /[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028-\u202e\u2066-\u2069\u2800\ufefd-\uff00\ufff9-\ufffb]/u;
    const [rejected, accepted] = [true, false].map((is) =>
      everyCharacter.filter((character) => hidden.test(character) === is),
    );
    expect(
      rejected?.filter((character) => [character, `a${character}b`].some((text) => visibleText.test(text))),
    ).toEqual([]);
    expect(visibleText.test(accepted?.join('') ?? '')).toBe(true);
  });

  it.each([
    ['a Persian name with a zero-width non-joiner', 'علی\u200cرضا'],
    ['a Sinhala name with a zero-width joiner', 'ශ්\u200dරී'],
    ['emoji that are joined, with skin tone and variation selector', '👩🏽\u200d🚀 ❤\ufe0f\u200d🔥'],
  ])('accepts %s', (_what, text) => {
    expect(visibleText.test(text)).toBe(true);
  });

  it('rejects joiners and selectors at either end, doubled, and beside Latin, Greek and Cyrillic letters (I18)', () => {
    const texts = joiners.flatMap((one) => [one, `Ada${one}`, `A${one}da`, `Α${one}δ`, `А${one}д`, `ع${one}${one}ع`]);
    const atTheEnd = joiners.slice(0, 2).flatMap((one) => [`ع${one}`, `${one}ع`, `ع${one}a`, `a${one}ع`]);
    expect([...texts, ...atTheEnd].filter((text) => visibleText.test(text))).toEqual([]);
  });

  it('decides about a long hostile text in one pass (I15)', () => {
    // Backtracking would take longer than the time limit of the test for any of these.
    for (const unit of ['ع', 'ع\u200d', 'ع\ufe0f\u200d', 'a', 'aع'])
      expect(visibleText.test(`${unit.repeat(100_000)}\0`)).toBe(false);
  });
});

describe('addresses', () => {
  it('accepts exactly the addresses that the runtime accepts, with a valid prefix length', () => {
    const numbers = ['0', '1', '9', '10', '25', '32', '33', '99', '128', '129', '255', '256', 'a', 'F', '1f', 'fffff'];
    const part = fc.constantFrom(...numbers, '', ':', '.', '/', '%');
    const almost = fc
      .array(fc.oneof(part, fc.constantFrom(':', '::', '.', '/')), { maxLength: 17 })
      .map((parts) => parts.join(''));
    const address = fc.oneof(fc.ipV4(), fc.ipV6(), almost);
    const prefix = fc.constantFrom('', '/0', '/8', '/08', '/32', '/33', '/128', '/129', '/', '/1/1');
    const expected = (text: string) => {
      const [ip = '', bits, ...rest] = text.split('/');
      const version = ip.includes('%') || rest.length > 0 ? 0 : isIP(ip);
      return (
        version > 0 &&
        (bits === undefined || (/^(0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128)))
      );
    };
    fc.assert(
      fc.property(address, prefix, (ip, bits) => {
        for (const text of [ip, ip + bits]) expect([text, addressForm.test(text)]).toEqual([text, expected(text)]);
      }),
      { numRuns: 300 },
    );
  });
});
