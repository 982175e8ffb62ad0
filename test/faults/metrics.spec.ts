import type { Config } from '../../src/config/config';
import { serveMetricsPort } from '../../src/metrics/metrics-server';
import { freePort } from '../support/built-program';
import { parseScrape, type Scrape, valuesOf } from '../support/metrics';
import { appSecret } from '../support/service';
import { ServiceProcess } from '../support/service-process';
import { TcpProxy } from '../support/tcp-proxy';
import { createTestDatabase } from '../support/test-database';
import { until } from '../support/until';

const sampled = 'carrier_identity_operations_unfinished';
const listener = 'carrier_identity_listener_age_seconds';

it.each([
  ['stops', (proxy: TcpProxy) => proxy.cut()],
  ['hangs', (proxy: TcpProxy) => Promise.resolve(proxy.freeze())],
] as const)('serves the metrics of the process when the database %s', async (_name, fail) => {
  const database = await createTestDatabase();
  const proxy = await TcpProxy.start(database.url);
  const port = await freePort();
  const service = await ServiceProcess.start({
    DATABASE_URL: proxy.url,
    APP_SECRET: appSecret,
    METRICS_PORT: String(port),
  });
  const scrape = async (): Promise<Scrape> =>
    parseScrape(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
  expect(Object.keys(valuesOf(await scrape(), sampled)).length).toBeGreaterThan(0);

  await fail(proxy);
  let found: Scrape = new Map();
  await until(async () => {
    found = await scrape();
    return Object.keys(valuesOf(found, sampled)).length === 0 && (found.get(listener) ?? 0) > 2;
  });
  expect(found.get('carrier_identity_build_info{version="1.0.0",node_version="' + process.version + '"}')).toBe(1);
  const began = performance.now();
  await Promise.all(Array.from({ length: 20 }, scrape));
  expect(performance.now() - began).toBeLessThan(10_000);

  await service.kill();
  await proxy.cut();
  await database.drop();
});

it('responds with 500 if the metrics cannot be rendered', async () => {
  const port = await freePort();
  const config = { METRICS_PORT: port, HOST: '127.0.0.1' } as Config;
  await serveMetricsPort(config, () => Promise.reject(new Error('not rendered')));
  const signal = AbortSignal.timeout(10_000);
  expect((await fetch(`http://127.0.0.1:${port}/metrics`, { signal })).status).toBe(500);
});
