import { Client } from 'pg';
import { firstOf } from '../../http/errors/database-error';
import { monotonicMs } from '../clock';
import { within } from '../within';
import { hostUrls } from '../config/host-urls';

/** The address of a server that accepts writes. */
export interface Primary {
  host: string;
  port: number;
  /** increases with each promotion of a standby */
  timeline: number;
}

const probeMs = 2_000;
/** Time for other servers to respond after the first primary: they may have a newer timeline. */
const graceMs = 200;
/** Reads the timeline of a primary from the name of its WAL file. Needs no privilege. */
const timelineSql = `
  select case
    when current_setting('transaction_read_only') = 'off' then left(pg_walfile_name(pg_current_wal_lsn()), 8)
  end as timeline`;

/** Time for a primary to restart, during which no primary with an older timeline is used. */
const restartMs = 60_000;
/** The newest timeline of a primary, and when one last responded with it. */
let newest = { timeline: 0, seenAt: 0 };
/** The primaries that were found last, or are being found, by URL. */
const found = new Map<string, Promise<Primary>>();

/**
 * Returns the primary among the hosts of a URL, without a query if it is known.
 * An old primary that still accepts writes has an older timeline, and is not chosen, not even while
 * the new one restarts.
 */
export function primaryOf(url: string): Promise<Primary> {
  const known = found.get(url);
  if (known !== undefined) return known;
  const search = findPrimary(hostUrls(url));
  found.set(url, search);
  search.catch(() => forgetPrimary(search));
  return search;
}

/**
 * Remembers a newer primary. Another search can find the old one, if that responds first. Forgets
 * the primaries of other URLs, which may be the old one, too.
 */
export function rememberPrimary(url: string, primary: Primary): void {
  found.clear();
  found.set(url, Promise.resolve(primary));
}

/** Forgets a primary. Keeps another one that was found in the meantime. */
export function forgetPrimary(known: Promise<Primary> | undefined): void {
  for (const [url, search] of found) if (search === known) found.delete(url);
}

/**
 * Probes all hosts at once.
 * @throws the first fault, with the messages of all faults
 */
export async function findPrimary(urls: string[]): Promise<Primary> {
  const late = (url: string) => () => Promise.reject(faultOf(new URL(url).host, 'does not respond', 'ETIMEDOUT'));
  const probes = urls.map((url) => within(probeMs, probe(url), late(url)));
  await Promise.any(probes).catch(() => undefined);
  const answers = await Promise.allSettled(probes.map((each) => within<Primary | null>(graceMs, each, () => null)));
  const primaries = answers.flatMap((answer) => (answer.status === 'fulfilled' ? (answer.value ?? []) : []));
  const [first] = primaries.sort((one, other) => other.timeline - one.timeline);
  if (first !== undefined) return first;
  const faults = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as Error] : []));
  const { code } = faults[0] as NodeJS.ErrnoException;
  throw Object.assign(new Error(faults.map(({ message }) => message).join('; ')), { code });
}

/** Returns the error of a host that cannot be used. */
export function faultOf(host: string, what: string, code: string | undefined): Error {
  return Object.assign(new Error(`${host}: ${what}`), { code });
}

async function probe(url: string): Promise<Primary> {
  const client = new Client({
    connectionString: url,
    application_name: 'carrier-identity primary',
    connectionTimeoutMillis: probeMs,
    query_timeout: probeMs,
  });
  client.on('error', () => undefined);
  const { host, port } = client;
  let timeline: number;
  try {
    await client.connect();
    const { rows } = await client.query<{ timeline: string | null }>(timelineSql);
    timeline = Number.parseInt(rows[0]?.timeline ?? '', 16);
  } catch (error) {
    const { message, code } = firstOf(error);
    throw faultOf(`${host}:${port}`, message, code);
  } finally {
    client.end().catch(() => undefined);
  }
  const isOld = timeline < newest.timeline && monotonicMs() - newest.seenAt < restartMs;
  if (isOld || Number.isNaN(timeline))
    throw faultOf(`${host}:${port}`, isOld ? 'is an old primary' : 'is read-only', '25006');
  newest = { timeline, seenAt: monotonicMs() };
  return { host, port, timeline };
}
