import { distance } from 'fastest-levenshtein';
import { poolMinPerWorker } from '../instance';
import { secretSettings, settings, type Settings } from './settings';
import { defaultRpId } from './webauthn';

const known = [...Object.keys(settings.shape), ...secretSettings.map((name) => `${name}_FILE`)];
/** Maximum number of changed characters in a misspelled name. */
const typosMax = 2;
/** Other names are not repeated in the log: they may contain control characters or a secret. */
const shownName = /^[A-Z0-9_]+$/;
/** Shorter names resemble other names by chance. */
const misspelledLengthMin = 7;

/** Returns warnings about a valid environment, one text per log line. */
export function warningsOf(environment: NodeJS.ProcessEnv, values: Settings): string[] {
  // OpenTelemetry has more variables than the settings, and reads them itself.
  const isUnknown = (name: string) => !known.includes(name) && !name.startsWith('OTEL_') && shownName.test(name);
  const unknown = Object.keys(environment).filter(isUnknown);
  return [
    ...unknown.flatMap((name) => {
      const meant = closest(name);
      return meant === undefined ? [] : [`${name} is not a setting and has no effect: did you mean ${meant}?`];
    }),
    ...poolWarnings(values),
    ...passkeyWarnings(values),
    ...values.TRUST_PROXY.filter(isWide).map(
      (network) => `TRUST_PROXY trusts ${network}: callers in this network can forge the address in limits and logs.`,
    ),
    ...(environment['NODE_ENV'] === 'production' ? [...originWarnings(values), ...mailWarnings(values)] : []),
  ];
}

function poolWarnings({ DATABASE_POOL_MAX, WORKERS }: Settings): string[] {
  const needed = WORKERS * poolMinPerWorker;
  if (WORKERS === 1 || DATABASE_POOL_MAX >= needed) return [];
  return [`DATABASE_POOL_MAX is ${DATABASE_POOL_MAX}, but ${WORKERS} workers open up to ${needed} connections.`];
}

function passkeyWarnings({ PUBLIC_URL, WEBAUTHN_RP_ID }: Settings): string[] {
  if (WEBAUTHN_RP_ID !== undefined || PUBLIC_URL === undefined || defaultRpId(PUBLIC_URL) !== null) return [];
  return ['Passkeys are off: the host of PUBLIC_URL is no domain. Use a domain, or set WEBAUTHN_RP_ID.'];
}

/** Returns whether a network is wider than /8 (IPv4) or /16 (IPv6), unless it is private IPv6. */
function isWide(network: string): boolean {
  const [address = '', bits = '128'] = network.toLowerCase().split('/');
  const isMapped = address.startsWith('::ffff:');
  const isIPv4 = isMapped || !address.includes(':');
  return Number(bits) - (isMapped ? 96 : 0) < (isIPv4 ? 8 : 16) && !/^f[cde]/.test(address);
}

function originWarnings({ PUBLIC_URL }: Settings): string[] {
  if (PUBLIC_URL?.startsWith('https:') === true) return [];
  return ['PUBLIC_URL is not an HTTPS origin: passwords, tokens and mailed links are sent unencrypted.'];
}

function mailWarnings({ SMTP_URL, MAIL_FROM }: Settings): string[] {
  if (SMTP_URL === undefined)
    return ['SMTP_URL is not set: no mail is sent. Mails are written to DATA_DIR/outbox instead.'];
  if (MAIL_FROM.includes('@localhost'))
    return ['MAIL_FROM is an address at localhost: mail servers on the Internet reject it.'];
  return [];
}

function closest(name: string): string | undefined {
  const [meant] = known
    .filter((setting) => isSimilar(name, setting))
    .sort((a, b) => distance(name, a) - distance(name, b));
  return meant;
}

/**
 * Returns whether two names differ by typos only, or one name is part of the other, such as
 * `ACCESS_TOKEN_TTL` and `ACCESS_TOKEN_TTL_SECONDS`. A name that is longer than the setting must
 * begin with the setting, because variables with a prefix such as `TEST_` belong to other programs.
 */
function isSimilar(name: string, setting: string): boolean {
  if (setting.length >= misspelledLengthMin && distance(name, setting) <= typosMax) return true;
  const [words, wanted] = [name.split('_'), setting.split('_')];
  if (words.length > 1 && (setting.startsWith(name) || words.every((word) => wanted.includes(word)))) return true;
  return wanted.length > 1 && name.startsWith(`${setting}_`);
}
