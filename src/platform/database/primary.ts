import { Client } from 'pg';
import { within } from '../within';
import { hostUrls } from './host-urls';

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

/** The primaries that were found last, or are being found, by URL. */
const found = new Map<string, Promise<Primary>>();

/**
 * Returns the primary among the hosts of a URL, without a query if it is known.
 * An old primary that still accepts writes has an older timeline, and loses.
 */
export function primaryOf(url: string): Promise<Primary> {
  const known = found.get(url);
  if (known !== undefined) return known;
  const search = findPrimary(hostUrls(url));
  found.set(url, search);
  search.catch(() => forgetPrimary(search));
  return search;
}

/** Remembers a newer primary. Another search can find the old one, if that responds first. */
export function rememberPrimary(url: string, primary: Primary): void {
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
  const probes = urls.map((url) => within(probeMs, probe(url), () => Promise.reject(timeoutOf(url))));
  await Promise.any(probes).catch(() => undefined);
  const faults: Error[] = [];
  const answers = probes.map((each) => within<Primary | null>(graceMs, each, () => null));
  const caught = answers.map((each) =>
    each.catch((fault: Error) => {
      faults.push(fault);
      return null;
    }),
  );
  const primaries = (await Promise.all(caught)).filter((server) => server !== null);
  const [newest] = primaries.sort((one, other) => other.timeline - one.timeline);
  if (newest !== undefined) return newest;
  const { code } = faults[0] as NodeJS.ErrnoException;
  throw Object.assign(new Error(faults.map(({ message }) => message).join('; ')), { code });
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
  try {
    await client.connect();
    const { rows } = await client.query<{ timeline: string | null }>(timelineSql);
    const timeline = rows[0]?.timeline;
    if (typeof timeline !== 'string') throw Object.assign(new Error('is read-only'), { code: '25006' });
    return { host, port, timeline: Number.parseInt(timeline, 16) };
  } catch (error) {
    // A host with several addresses has one error for each.
    const fault = error instanceof AggregateError ? (error.errors[0] as Error) : (error as Error);
    fault.message = `${host}:${port}: ${fault.message}`;
    throw fault;
  } finally {
    client.end().catch(() => undefined);
  }
}

function timeoutOf(url: string): Error {
  return Object.assign(new Error(`${new URL(url).host}: does not respond`), { code: 'ETIMEDOUT' });
}
