import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Cluster } from '../support/cluster';
import { RawConnection, requestHead } from '../support/raw-connection';
import { shutDownUnderLoad } from '../support/shutdown';

describe('a shutdown', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await Cluster.create();
  });
  afterAll(() => cluster.close());

  it.each([
    ['SIGINT', 1],
    ['SIGTERM', 2],
  ] as const)(
    'drops no request, closes idle connections and ignores further signals: %s, %i workers (F17)',
    (signal, workers) => shutDownUnderLoad(cluster, signal, workers),
  );

  it('is announced by the readiness for SHUTDOWN_DELAY_SECONDS, in which requests succeed (F17)', async () => {
    // Longer than this test takes on any machine. The test kills the service.
    const service = await cluster.start({ SHUTDOWN_DELAY_SECONDS: '300' });
    const token = await cluster.login(service);
    process.kill(service.pid, 'SIGTERM');
    await service.until(async () => (await service.get('/health/ready')).status === 503);
    expect(await service.get('/health/ready')).toMatchObject({
      headers: { connection: 'close' },
      body: { code: 'service.stopping' },
    });
    const head = await service.inject({ method: 'HEAD', url: '/health/ready' });
    expect(head).toMatchObject({ statusCode: 503, headers: { connection: 'close' }, body: '' });
    for (const path of ['/health/live', '/user'])
      expect(await service.get(path, { token })).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await service.kill();
  });

  it('disconnects unfinished requests, and requeues a mail if the mail server hangs (F10, F17)', async () => {
    const hanging = createServer().listen(0, '127.0.0.1');
    await once(hanging, 'listening');
    const reached = once(hanging, 'connection');
    const { port } = hanging.address() as AddressInfo;
    const service = await cluster.start({ SMTP_URL: `smtp://127.0.0.1:${port}`, SHUTDOWN_DELAY_SECONDS: '1' });
    const token = await cluster.login(service);
    const [body, head] = await Promise.all([RawConnection.open(service.port), RawConnection.open(service.port)]);
    await head.send('GET /health/live HTTP/1.1\r\nHost');
    const headers = { 'content-type': 'application/json', 'content-length': '50', expect: '100-continue' };
    await body.send(`${requestHead('POST', '/auth/login', headers)}{`);
    await service.until(() => body.status === 100);
    const user = { user_type: 'carrier', name: 'ada', email: 'ada@example.com', carrier_id: 'c1' };
    expect((await service.post('/user/create', { token, body: user })).status).toBe(201);
    await reached;
    expect(await service.stop()).toBe(0);
    hanging.close();
    expect(await cluster.rows('select locked_at, attempts from graphile_worker.jobs')).toEqual([
      { locked_at: null, attempts: 1 },
    ]);
  });
});
