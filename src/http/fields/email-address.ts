import { domainToASCII, domainToUnicode } from 'node:url';

const lengthMax = 254;
const localMax = 64;
const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
const label = (first: string) => `${first}([A-Za-z0-9-]{0,61}[A-Za-z0-9])?`;
/**
 * Matches addresses of a dot-atom and a domain of two or more labels. The last label starts with a
 * letter. Only `isEmailAddress` checks the length of the local part, and the Punycode after `xn--`.
 */
export const emailForm = new RegExp(`^${atom}(\\.${atom})*@(${label('[A-Za-z0-9]')}\\.)+${label('[A-Za-z]')}$`);
/**
 * Matches characters that `domainToASCII` cuts off, decodes or drops as parts of a URL. With them,
 * `domainToASCII` could turn a malformed address into a valid address.
 */
const urlSyntax = /[\s/\\?#%]/;

/**
 * Returns the canonical form of an e-mail address: trimmed, the domain in lower-case A-labels (RFC
 * 5890), the local part unchanged. This form is validated, stored and used as recipient.
 * Returns an address without such a form unchanged; `isEmailAddress` then rejects it. Canonicalise
 * before validating, so that no look-alike of `@` or `.` passes (CVE-2026-73420).
 */
export function canonicalEmail(text: string): string {
  const trimmed = text.length > lengthMax * 4 ? text : text.trim();
  const at = trimmed.lastIndexOf('@');
  if (at < 1 || trimmed.length > lengthMax * 4) return trimmed;
  const typed = trimmed.slice(at + 1);
  const domain = urlSyntax.test(typed) ? '' : domainToASCII(typed);
  return domain === '' ? trimmed : `${trimmed.slice(0, at)}@${domain.toLowerCase()}`;
}

/**
 * Returns whether a canonical address is valid: RFC 5321 dot-atom local part in ASCII, a domain of
 * two or more labels, at most 254 characters. Rejects quoted local parts, comments, lists and
 * address literals, because mailers read them differently (GHSA-g57g-f23g-4646).
 */
export function isEmailAddress(text: string): boolean {
  if (text.length > lengthMax || !emailForm.test(text)) return false;
  const [local = '', domain = ''] = text.split('@');
  // Versions of Node differ in how they convert `xn--` without Punycode, so it is rejected.
  return local.length <= localMax && domainToASCII(domain) === domain && !/(^|\.)xn--/.test(domainToUnicode(domain));
}
