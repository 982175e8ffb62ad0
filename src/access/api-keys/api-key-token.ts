import { mintToken } from '../../platform/random';

/** Lets secret scanners find keys in code and logs. Distinguishes keys from access tokens. */
const prefix = 'cik_';
const form = /^cik_[A-Za-z0-9_-]{43}$/;

/** Returns a new key: the prefix and 256 random bits. */
export function mintApiKey(): string {
  return prefix + mintToken();
}

/** Returns whether a token has the prefix of a key. Other tokens are access tokens. */
export function isKeyToken(token: string): boolean {
  return token.startsWith(prefix);
}

/** Returns whether a token has the form of a key. Other tokens are not looked up. */
export function hasKeyForm(token: string): boolean {
  return form.test(token);
}
