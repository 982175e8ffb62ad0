import { version } from '../../../src/common/project';
import { TestService } from '../../support/service';
import { ServiceProcess } from '../../support/service-process';

interface Line {
  level: string;
  time: string;
  version: string;
  instance: string;
  trace_id?: string;
  reqId: string;
  method: string;
  route: string;
  status: number;
  code?: string;
  ip: string;
  user_id?: string;
  key_id?: string;
  msg: string;
}

const trace_id = '4bf92f3577b34da6a3ce929d0e0e4736';

describe('the log of denied requests', () => {
  let service: TestService;
  let key: { key_id: string; key: string };
  let user: { user_id: string; token: string };

  beforeAll(async () => {
    service = await TestService.start();
    user = await service.loginAs({ roles: ['carrier_user'] });
    const body = {
      name: 'reader',
      permissions: ['user:read'],
      expires_at: new Date(Date.now() + 86_400_000).toISOString(),
    };
    const created = await service.post('/auth/key/create', { token: service.admin.token, body });
    expect(created.status).toBe(201);
    key = created.body;
  });
  afterAll(() => service.close());

  /** Sends one allowed and three rejected requests, and returns the lines of the access log. */
  async function linesAt(level: string): Promise<Line[]> {
    const instance = await ServiceProcess.beside(service, { LOG_LEVEL: level });
    const headers = (id: string) => ({ 'x-request-id': id, traceparent: `00-${trace_id}-00f067aa0ba902b7-01` });
    await instance.send('GET', '/user', { token: user.token, headers: headers('allowed') });
    const rejected = [
      await instance.send('GET', '/audit/list', { token: user.token, headers: headers('user') }),
      await instance.send('DELETE', `/user/${service.admin.user_id}`, { token: key.key, headers: headers('key') }),
      await instance.send('POST', '/user/create', {
        token: service.admin.token,
        headers: headers('invalid'),
        body: {},
      }),
    ];
    expect(rejected.map(({ status }) => status)).toEqual([403, 403, 400]);
    expect(await instance.stop()).toBe(0);
    const lines = instance.stdout.split('\n').filter((line) => line.startsWith('{'));
    return lines
      .map((line) => JSON.parse(line) as Line)
      .filter(({ msg, route }) => msg === 'request' && !route.startsWith('/health'));
  }

  const common = {
    level: 'warn',
    version,
    instance: expect.stringMatching(/^.+:\d+$/),
    trace_id,
    status: 403,
    code: 'access.denied',
    ip: '127.0.0.1',
    time: expect.stringMatching(/^\d{4}-.*Z$/),
  };

  it('names actor, route, error code and trace of each denied request, also at LOG_LEVEL=warn (O12)', async () => {
    const lines = await linesAt('warn');
    expect(lines).toEqual([
      {
        ...common,
        reqId: 'user',
        method: 'GET',
        route: '/audit/list',
        user_id: user.user_id,
        ms: expect.any(Number),
        msg: 'request',
      },
      {
        ...common,
        reqId: 'key',
        method: 'DELETE',
        route: '/user/:user_id',
        key_id: key.key_id,
        ms: expect.any(Number),
        msg: 'request',
      },
    ]);
  });

  it('adds the error code to the line of any other rejected request at LOG_LEVEL=info (O12)', async () => {
    const lines = await linesAt('info');
    expect(lines.map(({ reqId, level, status, code }) => [reqId, level, status, code])).toEqual([
      ['allowed', 'info', 200, undefined],
      ['user', 'warn', 403, 'access.denied'],
      ['key', 'warn', 403, 'access.denied'],
      ['invalid', 'info', 400, 'request.invalid'],
    ]);
  });

  it('logs no request at LOG_LEVEL=error (O12)', async () => {
    expect(await linesAt('error')).toEqual([]);
  });
});
