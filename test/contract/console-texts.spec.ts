import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCodes } from '../../src/common/errors/error-codes';
import { detailTexts } from '../../web/src/texts/details.de';
import * as de from '../../web/src/texts/errors.de';
import * as en from '../../web/src/texts/errors.en';

/** Failures without a response of the API. */
const localCodes = ['network.unreachable', 'network.unexpected_response', 'passkey.not_used'];

describe('texts of the console', () => {
  it.each([
    ['English', en],
    ['German', de],
  ])('has a text for every error code in %s, and no other', (_language, { errorTexts }) => {
    expect(Object.keys(errorTexts).sort()).toEqual([...Object.keys(errorCodes), ...localCodes].sort());
    expect(Object.values(errorTexts).filter((text) => text.trim() === '')).toEqual([]);
  });

  it('has the same texts for fields in both languages', () => {
    expect(Object.keys(de.fieldErrorTexts).sort()).toEqual(Object.keys(en.fieldErrorTexts).sort());
  });

  it('translates only details that the service sends', () => {
    const source = readFolder(join(__dirname, '../../src'));
    const details = Object.keys(detailTexts).map((detail) => detail.split('…')[0] ?? '');
    expect(details.filter((detail) => !source.includes(detail))).toEqual([]);
  });
});

/** Returns the text of all source files of a folder. */
function readFolder(folder: string): string {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /(?<!spec)\.ts$/.test(file),
  );
  return files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');
}
