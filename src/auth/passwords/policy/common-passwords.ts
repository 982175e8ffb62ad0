let common: Promise<Set<string>> | undefined;

/** Maximum length of a text whose repetitions are rejected. Estimating them takes long. */
const repeatedMax = 16;

/** Matches the list, the repetition of a short text, and a run such as `1234567890123456`. */
export async function isCommon(password: string): Promise<boolean> {
  const lower = password.toLowerCase();
  const list = await commonPasswords();
  return list.has(lower) || isRepetition(password, list) || isRun(lower);
}

/** Returns whether a text repeats a shorter one. The last repetition may be incomplete. */
function isRepetition(text: string, list: Set<string>): boolean {
  // Each character alone: in a text, the lower case of a Greek sigma depends on its place.
  const characters = [...text].map((character) => character.toLowerCase());
  const isPeriod = (period: number) => characters.slice(period).every((one, index) => one === characters[index]);
  const period = characters.findIndex((_, index) => index > 0 && isPeriod(index));
  const times = period < 0 ? 1 : characters.length / period;
  if (times < 2) return false;
  return period <= 4 || (period <= repeatedMax && times >= 3) || list.has(characters.slice(0, period).join(''));
}

function isRun(text: string): boolean {
  const rows = [
    '01234567890123456789',
    'abcdefghijklmnopqrstuvwxyz',
    'qwertyuiopasdfghjklzxcvbnm',
    '1qaz2wsx3edc4rfv5tgb6yhn7ujm',
    '1q2w3e4r5t6y7u8i9o0p',
  ];
  return rows.some((row) => isPartOf(text, row) || isPartOf(text, [...row].reverse().join('')));
}

function isPartOf(text: string, row: string): boolean {
  return row.repeat(Math.ceil(text.length / row.length) + 1).includes(text);
}

/** Loads 50,000 common passwords on the first call. */
function commonPasswords(): Promise<Set<string>> {
  common ??= import('@zxcvbn-ts/language-common').then(({ dictionary }) => new Set(dictionary['passwords-common']));
  return common;
}
