import { isIP } from 'node:net';
import { addressForm } from './text-forms';

/** Returns whether a text is an IP address, or one with a prefix length such as 10.0.0.0/8. */
export function isAddressOrCidr(text: string): boolean {
  return addressForm.test(text);
}

/**
 * Returns the address in what a proxy or a socket tells, without port, brackets, zone and IPv6
 * mapping; null when there is none in it. A socket tells nothing once its client has gone.
 */
export function clientAddress(text = ''): string | null {
  const bare = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  const address = bare.split('%')[0] ?? '';
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
  return isIP(mapped) === 0 ? null : mapped;
}

/**
 * What counts as one address for a limit: an IPv4 address, also when mapped into IPv6, or the /64
 * of an IPv6 address, since one subscriber has all of it.
 */
export function addressKey(ip?: string): string {
  const address = clientAddress(ip) ?? 'unknown';
  if (isIP(address) !== 6) return address;
  const [head = '', tail = ''] = address.split('::');
  const first = head.split(':').filter((group) => group !== '');
  const last = tail.split(':').filter((group) => group !== '');
  const zeros = address.includes('::') ? Array<string>(Math.max(0, 8 - first.length - last.length)).fill('0') : [];
  const groups = [...first, ...zeros, ...last].slice(0, 4).map((group) => parseInt(group, 16).toString(16));
  return `${groups.join(':')}::/64`;
}
