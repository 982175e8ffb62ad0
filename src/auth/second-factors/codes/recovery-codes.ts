import { randomBytes } from 'node:crypto';
import { Secret } from 'otpauth';
import { hashToken } from '../../../platform/random';

const codeBytes = 15;
const codesPerUser = 10;
const groupLength = 4;
const codeFormat = /^[A-Z2-7]{24}$/;

/** Returns ten new recovery codes of 120 bits, in groups of four base32 characters. */
export function mintRecoveryCodes(): string[] {
  return Array.from({ length: codesPerUser }, () => {
    const code = new Secret({ buffer: Uint8Array.from(randomBytes(codeBytes)).buffer }).base32;
    return (code.match(new RegExp(`.{${groupLength}}`, 'g')) ?? []).join('-');
  });
}

/**
 * Returns the hash of a recovery code, or null if the text is none. Accepts lower case, and codes
 * with or without separators.
 */
export function hashRecoveryCode(text: string): Buffer | null {
  const code = text.replace(/[\s-]/g, '').toUpperCase();
  return codeFormat.test(code) ? hashToken(code) : null;
}
