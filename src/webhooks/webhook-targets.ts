import { isIP, isIPv4 } from 'node:net';
import { IPv4, IPv6, parse, parseCIDR } from 'ipaddr.js';
import { type Fault, limitFault } from '../http/errors/app-error';

const urlLengthMax = 2_048;
/** All public IPv6 addresses are in 2000::/3 (RFC 4291 §2.4). */
const publicIPv6 = new IPv6([0x2000, 0, 0, 0, 0, 0, 0, 0]);
/** ISATAP: the address ends with an IPv4 address (RFC 5214 §6.1). */
const isatap = /:(0|200):5efe:[^:]*:[^:]*$/;
/** Host service that every virtual machine at Azure reaches by this otherwise public address. */
const azureHost = '168.63.129.16';

/** Decides where webhooks may send requests. */
export class WebhookTargets {
  private readonly allowed: [IPv4 | IPv6, number][];

  /** @param networks CIDRs and addresses that are allowed although they are not public */
  constructor(networks: readonly string[]) {
    this.allowed = networks.map((text) => parseCIDR(text.includes('/') ? text : `${text}/${isIPv4(text) ? 32 : 128}`));
  }

  /**
   * Returns what is wrong with the URL of a webhook, or undefined. Accepts every host name, because
   * `permits` checks its addresses before each connection.
   */
  faultOf(text: string): Fault | undefined {
    if (text.length > urlLengthMax) return limitFault('field.too_long', { max: urlLengthMax });
    if (!URL.canParse(text)) return { code: 'field.malformed', detail: 'must be a URL' };
    const url = new URL(text);
    const isHttp = url.protocol === 'http:' && this.allowed.length > 0;
    if (!isHttp && url.protocol !== 'https:') return forbidden('must begin with https://');
    if (url.username !== '' || url.password !== '') return forbidden('must not contain a user name or password');
    if (text.includes('#')) return forbidden('must not contain a fragment');
    if (url.port !== '' && Number(url.port) < 1_024) return forbidden('must use the default port or a port from 1024');
    const host = hostOf(url);
    if (isIP(host) !== 0 && !this.permits(url.protocol, host)) return forbidden('must not contain a private address');
    return undefined;
  }

  /**
   * Returns whether a webhook may connect to an address. Allows HTTP only in an allowed network.
   * Addresses that contain another one (mapped, NAT64, 6to4, Teredo) are not public.
   */
  permits(protocol: string, address: string): boolean {
    const parsed = parse(address);
    if (this.allowed.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits)))
      return true;
    if (protocol !== 'https:' || address === azureHost || parsed.range() !== 'unicast') return false;
    return parsed instanceof IPv4 || (parsed.match(publicIPv6, 3) && !isatap.test(parsed.toNormalizedString()));
  }
}

/** Returns the host of a URL, without the brackets of an IPv6 address. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

function forbidden(detail: string): Fault {
  return { code: 'webhook.url_forbidden', detail };
}
