import { isIP } from 'node:net';

const domain = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;
/** Browsers parse hosts that end in a number as IPv4 addresses. */
const numericEnd = /(^|\.)(\d+|0x[0-9a-f]*)$/;
const localHost = /(^|\.)localhost$/;

/**
 * Returns whether a text can be an RP id: a domain in lower case, never an IP address.
 * @see https://www.w3.org/TR/webauthn-3/#rp-id
 */
export function isRpId(text: string): boolean {
  return domain.test(text) && !numericEnd.test(text);
}

/**
 * Returns whether a text is an origin whose pages may use passkeys: HTTPS, or HTTP on localhost.
 * Browsers offer passkeys on no other origins.
 */
export function isPasskeyOrigin(text: string): boolean {
  if (!/^https?:\/\/[^\s/?#@\\]+$/.test(text) || !URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' ? isIP(hostname.replace(/^\[|\]$/g, '')) === 0 : localHost.test(hostname);
}

/** Returns an origin as browsers write it: in lower case, without the default port. */
export function originOf(url: string): string {
  return new URL(url).origin;
}

/** Returns the host of a URL if it can be an RP id, or null. */
export function defaultRpId(url: string): string | null {
  const { hostname } = new URL(url);
  return isRpId(hostname) ? hostname : null;
}
