import { domainToASCII, domainToUnicode } from 'node:url';

const lengthMax = 254;
const localMax = 64;
const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
const label = (first: string) => `${first}([A-Za-z0-9-]{0,61}[A-Za-z0-9])?`;
/**
 * Matches addresses of a dot-atom and a domain of two or more labels, of which the last begins with
 * a letter. It cannot say that a local part has at most 64 characters and that `xn--` is followed
 * by Punycode: `isEmailAddress` does.
 */
export const emailForm = new RegExp(`^${atom}(\\.${atom})*@(${label('[A-Za-z0-9]')}\\.)+${label('[A-Za-z]')}$`);
/**
 * `domainToASCII` reads a URL: it cuts off, decodes or drops these, and would make an address of
 * what is none.
 */
const urlSyntax = /[\s/\\?#%]/;

/**
 * The one form of an e-mail address that is validated, stored and mailed to: trimmed, the domain in
 * lower-case A-labels (RFC 5890), the local part as it was typed. Anything that cannot be brought
 * into that form is returned unchanged and fails `isEmailAddress`. Canonicalised first and
 * validated after, so that no look-alike of `@` or `.` slips through (CVE-2026-73420).
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
 * Whether a canonical address may be stored: RFC 5321 dot-atom local part in ASCII, a domain of two
 * or more labels, 254 characters. Quoted local parts, comments, lists and address literals are
 * refused: mailers disagree on them (GHSA-g57g-f23g-4646).
 */
export function isEmailAddress(text: string): boolean {
  if (text.length > lengthMax || !emailForm.test(text)) return false;
  const [local = '', domain = ''] = text.split('@');
  // `xn--` before what is no Punycode names no domain: versions of Node differ in what they make of
  // it
  return local.length <= localMax && domainToASCII(domain) === domain && !/(^|\.)xn--/.test(domainToUnicode(domain));
}
