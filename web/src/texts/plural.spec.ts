import { pluralIn } from './plural';

const written = { en: ['0 users', '1 user', '1,200 users'], de: ['0 Benutzer', '1 Benutzerin', '1.200 Benutzer'] };

describe('pluralIn', () => {
  it.each(['en', 'de'] as const)('writes numbers and their nouns by the rules of %s', (language) => {
    const plural = pluralIn(language);
    const [one, other] = language === 'en' ? ['# user', '# users'] : ['# Benutzerin', '# Benutzer'];
    expect([0, 1, 1_200].map((count) => plural(count, one, other))).toEqual(written[language]);
  });
});
