import type { FieldError } from '../common/errors/app-error';

/** Longest password in code points. A longer password is rejected before hashing (ASVS 6.2.9). */
const passwordMax = 256;

/** Words that a password must not contain, because attackers try them first. */
export interface PasswordContext {
  name: string;
  email: string;
  carrier_id: string | null;
}

const productName = 'carrier-identity';
const contextMin = 4;
let common: Set<string> | null = null;

/**
 * Returns why a new password is rejected, or null.
 * Checks the length, common passwords and words about the user. There are no composition rules and
 * no expiry (NIST SP 800-63B-4 §3.1.1.2, OWASP ASVS 6.2).
 */
export async function passwordFault(
  password: string,
  min: number,
  context: PasswordContext,
  pointer: string,
): Promise<FieldError | null> {
  const length = [...password].length;
  if (length < min) return { pointer, code: 'password.too_short', detail: `must have at least ${min} characters` };
  if (length > passwordMax)
    return { pointer, code: 'password.too_long', detail: `must have at most ${passwordMax} characters` };
  if (await isCommon(password)) return { pointer, code: 'password.common', detail: 'is too common' };
  if (containsContext(password, context)) {
    return {
      pointer,
      code: 'password.contains_identity',
      detail: 'must not contain the name, the e-mail address, the carrier or the product name',
    };
  }
  return null;
}

function containsContext(password: string, { name, email, carrier_id }: PasswordContext): boolean {
  const lower = password.toLowerCase();
  const words = [name, email.split('@')[0] ?? '', carrier_id ?? '', productName, productName.replace('-', '')];
  return words.some((word) => word.length >= contextMin && lower.includes(word.toLowerCase()));
}

/** Matches the list, the repetition of a short text, and a run such as `1234567890123456`. */
async function isCommon(password: string): Promise<boolean> {
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
