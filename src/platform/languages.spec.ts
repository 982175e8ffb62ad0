import { acceptedLanguage, languageOf } from './languages';

describe('languages', () => {
  it.each([
    ['de-AT', 'de'],
    ['EN', 'en'],
    ['fr-FR', null],
    ['den', null],
    ['', null],
    [null, null],
  ])('finds the language of the tag %s', (tag, language) => {
    expect(languageOf(tag)).toBe(language);
  });

  it.each([
    [undefined, 'en'],
    ['', 'en'],
    ['de', 'de'],
    ['de-AT,de;q=0.9,en;q=0.8', 'de'],
    ['en-GB,de;q=0.9', 'en'],
    ['fr-FR, de ; q=0.5, en;q=0.4', 'de'],
    ['en;q=0.1,de;q=0.9', 'de'],
    ['de;q=0', 'en'],
    ['de;q=x', 'en'],
    ['fr,*', 'en'],
  ])('prefers the best language of %s', (header, language) => {
    expect(acceptedLanguage(header)).toBe(language);
  });

  it('ignores a header of more than 256 characters', () => {
    expect([254, 255].map((spaces) => acceptedLanguage(`de${' '.repeat(spaces)}`))).toEqual(['de', 'en']);
  });

  it('does not block the event loop on a header of 60,000 spaces', () => {
    const before = process.cpuUsage();
    expect(acceptedLanguage(`de${' '.repeat(60_000)}x`)).toBe('en');
    expect(process.cpuUsage(before).user).toBeLessThan(500_000);
  });
});
