import { timingSafeEqual } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';

/** Size of a secret: 160 bits (RFC 4226 §4 R6). */
export const totpSecretBytes = 20;
/** Seconds for which a code is shown (RFC 6238 §5.2). */
export const totpStepSeconds = 30;
const digits = 6;
/** Number of steps by which the clock of the user's device may differ. */
const drift = 1;

/** Format of a code. */
export const totpCodeFormat = /^[0-9]{6}$/;

/**
 * Returns the step whose code was entered, or null if the code is wrong.
 * Compares the codes of all accepted steps in constant time.
 * @param step current number of 30-second steps since 1970
 */
export function matchingStep(secret: Buffer, code: string, step: number): number | null {
  if (!totpCodeFormat.test(code)) return null;
  const given = Buffer.from(code);
  let matching: number | null = null;
  for (let candidate = step - drift; candidate <= step + drift; candidate += 1)
    if (timingSafeEqual(given, Buffer.from(codeAt(secret, candidate)))) matching = candidate;
  return matching;
}

function codeAt(secret: Buffer, step: number): string {
  return TOTP.generate({
    secret: secretOf(secret),
    digits,
    period: totpStepSeconds,
    timestamp: step * totpStepSeconds * 1_000,
  });
}

/** Returns a secret in base32, and the URI that an authenticator app reads from a QR code. */
export function describeTotp(secret: Buffer, issuer: string, label: string): { secret: string; otpauth_uri: string } {
  const totp = new TOTP({ issuer, label, secret: secretOf(secret), digits, period: totpStepSeconds });
  return { secret: totp.secret.base32, otpauth_uri: totp.toString() };
}

function secretOf(secret: Buffer): Secret {
  return new Secret({ buffer: Uint8Array.from(secret).buffer });
}
