import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseScrape } from '../metrics';
import type { TestService } from '../service';

/** Setting that lets a test read the metrics of its service. */
export const METRICS_TOKEN = 'prometheus-0123456789-abcdefghijklmnop';

/** What hashing has cost a process of the service so far. */
interface HashCounts {
  /** passwords that were verified or hashed again at a login */
  logins: number;
  /** new passwords that were hashed */
  others: number;
  cpuSeconds: number;
}

/** Reads what hashing has cost the service. The service needs METRICS_TOKEN. */
async function hashCounts(service: TestService): Promise<HashCounts> {
  const values = parseScrape((await service.get('/metrics', { token: METRICS_TOKEN })).text);
  const of = (name: string) => values.get(name) ?? NaN;
  return {
    logins: of('carrier_identity_hash_queue_wait_seconds_count{kind="login"}'),
    others: of('carrier_identity_hash_queue_wait_seconds_count{kind="other"}'),
    cpuSeconds: of('process_cpu_seconds_total'),
  };
}

/** Returns what the hashing of some work costs the service. */
export async function hashCost(service: TestService, work: () => Promise<unknown>): Promise<HashCounts> {
  const before = await hashCounts(service);
  await work();
  const after = await hashCounts(service);
  return {
    logins: after.logins - before.logins,
    others: after.others - before.others,
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
  };
}

/** Settings that let a test hold the new hashes of its service, or let them fail. */
export const heldHashes = { NODE_OPTIONS: `--require=${join(__dirname, 'held-hashes.js')}` };

/** Runs work while the new hashes of a service with `heldHashes` wait or fail. */
export async function whileHashes<Result>(
  service: TestService,
  state: 'wait' | 'fail',
  work: () => Promise<Result>,
): Promise<Result> {
  const file = join(service.dataDir, state === 'wait' ? 'hold-hashes' : 'fail-hashes');
  writeFileSync(file, '');
  return work().finally(() => rmSync(file));
}
