import { mintToken } from '../common/random';

/** Secret scanners find keys by it in code and logs, and no access token begins like that. */
const prefix = 'cik_';
const form = /^cik_[A-Za-z0-9_-]{43}$/;

/** A new key: the prefix and 256 random bits. */
export function mintApiKey(): string {
  return prefix + mintToken();
}

/** Whether a token wants to be a key. */
export function isKeyToken(token: string): boolean {
  return token.startsWith(prefix);
}

/** Whether a token can be a key: what cannot be one is never looked up. */
export function hasKeyForm(token: string): boolean {
  return form.test(token);
}
