let common: Set<string> | null = null;

/** Matches the list, the repetition of a short text, and a run such as `1234567890123456`. */
export async function isCommon(password: string): Promise<boolean> {
  const lower = password.toLowerCase();
  const list = await commonPasswords();
  return list.has(lower) || isRepetition(lower, list) || isRun(lower);
}

function isRepetition(text: string, list: Set<string>): boolean {
  const period = (text + text).indexOf(text, 1);
  return period < text.length && (period <= 4 || list.has(text.slice(0, period)));
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
async function commonPasswords(): Promise<Set<string>> {
  if (common === null) {
    const { dictionary } = await import('@zxcvbn-ts/language-common');
    common = new Set(dictionary['passwords-common']);
  }
  return common;
}
