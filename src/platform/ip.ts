import { isIPv4, isIPv6 } from 'node:net';
import { IPv4, IPv6 } from 'ipaddr.js';
import { addressForm } from './text-forms';

/** Returns whether a text is an IP address, or one with a prefix length such as 10.0.0.0/8. */
export function isAddressOrCidr(text: string): boolean {
  return addressForm.test(text);
}

/**
 * Returns the client address that a proxy or a socket reports, or null if it reports none.
 * Removes port, brackets, zone and IPv6 mapping. A socket reports no address after its client has
 * disconnected.
 */
export function clientAddress(text = ''): string | null {
  const bare = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  const [address = ''] = bare.split('%');
  if (!isIPv6(address)) return isIPv4(address) ? address : null;
  const parsed = parseIPv6(address);
  return (parsed.isIPv4MappedAddress() ? parsed.toIPv4Address() : parsed).toString();
}

/**
 * Returns the key under which a rate limit counts an address.
 * One subscriber has a whole /64 of IPv6 addresses, so these share a key.
 */
export function addressKey(ip?: string): string {
  const address = clientAddress(ip) ?? 'unknown';
  if (!isIPv6(address)) return address;
  const network = parseIPv6(address).parts.slice(0, 4);
  return `${network.map((group) => group.toString(16)).join(':')}::/64`;
}

/** The first bits of IPv4-mapped IPv6 addresses, ::ffff:0:0/96. */
const mappedBits = '0'.repeat(80) + '1'.repeat(16);

/**
 * Returns the prefix of an address or CIDR as text: `4` or `6`, and its bits. A network contains
 * exactly the addresses and networks whose prefix begins with its own. IPv4-mapped addresses are
 * IPv4 addresses.
 */
export function prefixOf(network: string): string {
  const [address = '', length] = network.split('/');
  const octets = (isIPv4(address) ? IPv4.parse(address) : parseIPv6(address)).toByteArray();
  const all = octets.map((octet) => octet.toString(2).padStart(8, '0')).join('');
  const bits = length === undefined ? all : all.slice(0, Number(length));
  if (isIPv4(address)) return `4${bits}`;
  return bits.startsWith(mappedBits) ? `4${bits.slice(mappedBits.length)}` : `6${bits}`;
}

/**
 * Parses an IPv6 address. Writes its IPv4 part as hexadecimal first, because the library takes
 * `::10.0.0.1` for a mapped address. Only `::ffff:10.0.0.1` is one (RFC 4291 §2.5.5).
 */
function parseIPv6(address: string): IPv6 {
  const hex = (high: string, low: string) => (Number(high) * 256 + Number(low)).toString(16);
  return IPv6.parse(
    address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a: string, b: string, c: string, d: string) =>
      [hex(a, b), hex(c, d)].join(':'),
    ),
  );
}
