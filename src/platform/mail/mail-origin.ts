import Bowser from 'bowser';
import type { Caller } from '../../access/actor';
import { currentTimeText } from '../clock';

/** Origin of the change that a security mail reports. */
export interface MailOrigin {
  /** time of the change, RFC 3339 */
  at: string;
  /** IP address, or null if unknown */
  ip: string | null;
  /** browser and operating system, or null if unknown */
  device: string | null;
  /** true if another user or an API key made the change; address and device are then null */
  by_other?: boolean;
}

/** Maximum number of characters to parse: the parser takes quadratic time. */
const parsedCharacters = 256;
const browsers = new Set(Object.values(Bowser.BROWSER_MAP));
const systems = new Set(Object.values(Bowser.OS_MAP));

/**
 * Returns the origin of a change that the recipient of the mail made.
 * @param at time of the change, if it is not the current time
 */
export function originOf(
  { ip, user_agent }: Pick<Caller, 'ip' | 'user_agent'>,
  at: string = currentTimeText(),
): MailOrigin {
  return { at, ip, device: deviceOf(user_agent) };
}

/**
 * Returns the origin of a change that another user or an API key made.
 * Omits address and device: users must not see the address of an administrator.
 */
export function originOfOther(): MailOrigin {
  return { at: currentTimeText(), ip: null, device: null, by_other: true };
}

/**
 * Returns a browser and an operating system, such as `Firefox 131, Windows`, or null if unknown.
 * Contains only names that the parser knows, because the client may be an attacker who writes a
 * text or a link into the user agent (I17).
 */
export function deviceOf(user_agent: string | null): string | null {
  if (user_agent === null || user_agent === '') return null;
  const { browser, os } = Bowser.parse(user_agent.slice(0, parsedCharacters));
  const version = /^\d{1,4}/.exec(browser.version ?? '')?.[0] ?? '';
  const parts = [
    browsers.has(browser.name ?? '') ? `${browser.name} ${version}`.trim() : '',
    systems.has(os.name ?? '') ? String(os.name) : '',
  ];
  return parts.filter((part) => part !== '').join(', ') || null;
}
