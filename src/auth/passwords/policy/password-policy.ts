import { Inject, Injectable } from '@nestjs/common';
import { type Fault, type FieldError, limitFault } from '../../../http/errors/app-error';
import { CONFIG, type Config } from '../../../platform/config/config';
import { passwordChecks } from '../credentials.metrics';
import { BreachedPasswords } from './breached-passwords';
import { isCommon } from './common-passwords';
import { PasswordStrength } from './password-strength';

/** Longest password in code points. A longer password is rejected before hashing (ASVS 6.2.9). */
const passwordMax = 256;

/** What attackers know about a user and try first. */
export interface PasswordContext {
  name: string;
  email: string;
  carrier_id: string | null;
  first_name?: string | null;
  last_name?: string | null;
  phone?: string | null;
}

const breachedFault: Fault = { code: 'password.breached', detail: 'is in a list of stolen passwords' };
const productName = 'carrier-identity';
const contextMin = 4;
/** Parts of names and addresses that are shorter occur in strong passwords by chance. */
const partMin = 3;

/** The rules for new passwords. */
@Injectable()
export class PasswordPolicy {
  constructor(
    private readonly strength: PasswordStrength,
    private readonly breached: BreachedPasswords,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Returns why a new password is rejected, `unknown` if only its lookup failed, or null.
   * There are no composition rules and no expiry (NIST SP 800-63B-4 §3.1.1.2, OWASP ASVS 6.2).
   */
  async fault(password: string, context: PasswordContext, pointer: string): Promise<FieldError | 'unknown' | null> {
    const simple = this.lengthFault(password) ?? (await commonFault(password)) ?? contextFault(password, context);
    // A service must learn nothing about a password that the rules above reject (P18).
    const isBreached = simple === null && (await this.breached.has(password));
    const fault = simple ?? (isBreached === true ? breachedFault : await this.strengthFault(password, context));
    if (fault !== null) return { pointer, ...fault };
    return isBreached === null ? 'unknown' : null;
  }

  private lengthFault(password: string): Fault | null {
    const length = [...password].length;
    const min = this.config.PASSWORD_MIN_LENGTH;
    if (length < min) return limitFault('password.too_short', { min });
    return length > passwordMax ? limitFault('password.too_long', { max: passwordMax }) : null;
  }

  private async strengthFault(password: string, context: PasswordContext): Promise<Fault | null> {
    const strength = await this.strength.check(password, wordsOf(context, this.config.PRODUCT_NAME));
    const outcome = strength === null ? 'skipped' : strength.isStrong ? 'strong' : 'weak';
    passwordChecks.inc({ outcome });
    if (strength === null || strength.isStrong) return null;
    return { code: 'password.too_weak', detail: 'is too easy to guess', hints: strength.hints };
  }
}

async function commonFault(password: string): Promise<Fault | null> {
  return (await isCommon(password)) ? { code: 'password.common', detail: 'is too common' } : null;
}

function contextFault(password: string, { name, email, carrier_id }: PasswordContext): Fault | null {
  const lower = password.toLowerCase();
  const words = [name, email.split('@')[0] ?? '', carrier_id ?? '', productName, productName.replace('-', '')];
  if (!words.some((word) => word.length >= contextMin && lower.includes(word.toLowerCase()))) return null;
  return {
    code: 'password.contains_identity',
    detail: 'must not contain the name, the e-mail address, the carrier or the product name',
  };
}

/** Returns the values of the context and their parts, such as the labels of an e-mail address. */
function wordsOf(context: PasswordContext, product: string): string[] {
  const { name, email, carrier_id, first_name, last_name, phone } = context;
  const values = [name, email, carrier_id, first_name, last_name, phone, product, productName].flatMap(
    (value) => value ?? [],
  );
  const parts = values.flatMap((value) => value.split(/[^\p{L}\p{N}]+/u)).filter((part) => part.length >= partMin);
  return [...new Set([...values, ...parts].map((word) => word.toLowerCase()))];
}
