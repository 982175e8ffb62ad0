import { distance } from 'fastest-levenshtein';
import { secretSettings, settings, type Settings } from './settings';

const known = [...Object.keys(settings.shape), ...secretSettings.map((name) => `${name}_FILE`)];
/** Maximum number of changed characters in a misspelled name. Shorter names are alike by chance. */
const typosMax = 2;
const misspelledLengthMin = 7;

/** Returns what an operator should know about a valid environment, one text per line of the log. */
export function warningsOf(environment: NodeJS.ProcessEnv, values: Settings): string[] {
  const unknown = Object.keys(environment).filter((name) => !known.includes(name));
  return [
    ...unknown.flatMap((name) => {
      const meant = closest(name);
      return meant === undefined ? [] : [`${name} is not a setting and has no effect: did you mean ${meant}?`];
    }),
    ...(environment['NODE_ENV'] === 'production' ? mailWarnings(values) : []),
  ];
}

function mailWarnings({ SMTP_URL, MAIL_FROM }: Settings): string[] {
  if (SMTP_URL === undefined)
    return ['SMTP_URL is not set: no mail is sent. Mails are written to DATA_DIR/outbox instead.'];
  if (MAIL_FROM.includes('@localhost'))
    return ['MAIL_FROM is an address at localhost: mail servers on the Internet reject it.'];
  return [];
}

/** Returns the setting that a variable was probably meant to be. */
function closest(name: string): string | undefined {
  const [meant] = known
    .filter((setting) => isSimilar(name, setting))
    .sort((a, b) => distance(name, a) - distance(name, b));
  return meant;
}

/**
 * Returns whether two names differ by typos only, or one is a part of the other, such as
 * `ACCESS_TOKEN_TTL` and `ACCESS_TOKEN_TTL_SECONDS`. A longer name must begin like the setting: a
 * prefix such as `TEST_` belongs to other programs.
 */
function isSimilar(name: string, setting: string): boolean {
  if (setting.length >= misspelledLengthMin && distance(name, setting) <= typosMax) return true;
  const [words, wanted] = [name.split('_'), setting.split('_')];
  if (words.length > 1 && (setting.startsWith(name) || words.every((word) => wanted.includes(word)))) return true;
  return wanted.length > 1 && name.startsWith(`${setting}_`);
}
