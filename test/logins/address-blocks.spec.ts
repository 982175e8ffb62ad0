import { METRICS_TOKEN, hashCost } from '../support/process/hash-counts';
import { createKey, inSeconds } from '../support/data/keys';
import { codeOf, password, type TestLogin, TestService } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { changeSession } from '../support/data/session-rows';
import { TcpProxy } from '../support/network/tcp-proxy';
import { until } from '../support/until';

const day = 86_400;
const link = 'x'.repeat(43);
/** The routes that log in or reset a password. */
const routes: [string, string, object | undefined][] = [
  ['POST', '/auth/login', { login: 'nobody', password }],
  ['POST', '/auth/second-factor', { challenge: link, code: '000000' }],
  ['POST', '/auth/second-factor/passkey-options', { challenge: link }],
  ['POST', '/auth/passkey/options', undefined],
  ['POST', '/auth/passkey/login', { challenge: link, passkey: {} }],
  ['POST', '/auth/reset_email', { email: 'nobody@example.com' }],
  ['GET', `/auth/reset/${link}`, undefined],
  ['POST', `/auth/reset/${link}`, { password: 'a new and long password' }],
];

describe('address blocks', () => {
  let service: TestService;
  /** gets its notifications through a proxy */
  let there: ServiceProcess;
  let listening: TcpProxy;
  let user: TestLogin & { name: string };
  beforeAll(async () => {
    service = await TestService.start({ METRICS_TOKEN });
    listening = await TcpProxy.start(service.config.DATABASE_URL);
    const env = { DATABASE_DIRECT_URL: listening.url, LIVE_LOGIN_LEASE_SECONDS: '300' };
    there = await ServiceProcess.beside(service, env);
    user = await service.loginAs({});
  });
  afterAll(async () => {
    await there.kill();
    await listening.cut();
    await service.close();
  });

  let count = 0;
  /** Returns the first 24 bits of a new network. */
  const newNetwork = () => `198.${18 + (++count >> 8)}.${count & 255}`;
  const create = (network: string, fields: object = {}, by: Pick<TestLogin, 'token'> = service.admin, ip?: string) =>
    service.post('/address-block/create', {
      token: by.token,
      body: { network, expires_at: inSeconds(60), ...fields },
      ...(ip === undefined ? {} : { ip }),
    });
  async function block(network: string, fields: object = {}): Promise<string> {
    const answer = await create(network, fields);
    expect([answer.status, answer.body.code]).toEqual([201, undefined]);
    return answer.body.address_block_id as string;
  }
  const login = (ip: string, at: ServiceProcess = service) =>
    at.post('/auth/login', { body: { login: user.name, password }, ip });

  it('rejects every login and reset of a blocked network before a password is hashed, and no other (L32)', async () => {
    const network = newNetwork();
    await block(`${network}.0/24`, { expires_at: inSeconds(3_600), reason: 'Password spraying' });
    const cost = await hashCost(service, async () => {
      for (const [method, url, body] of routes) {
        const answer = await service.send(method, url, { body, ip: `${network}.200` });
        expect([url, codeOf(answer)]).toEqual([url, '429 auth.too_many_attempts']);
        const seconds = Number(answer.headers['retry-after']);
        expect([seconds > 3_500, seconds <= 3_600]).toEqual([true, true]);
      }
      expect(codeOf(await login(`${network}.200`))).toBe('429 auth.too_many_attempts');
    });
    expect([cost.logins, cost.others]).toEqual([0, 0]);
    for (const [method, url, body] of routes) {
      const { status } = await service.send(method, url, { body, ip: `${newNetwork()}.200` });
      expect([url, status]).not.toEqual([url, 429]);
    }
  });

  it('rejects every form of a blocked address, and the whole of a blocked IPv6 network (L32)', async () => {
    const [ip, mapped] = [`${newNetwork()}.7`, newNetwork()];
    await block(ip);
    await block(`::ffff:${mapped}.0/120`);
    await block('2001:db8:7::/48');
    const blocked = [ip, `::ffff:${ip}`, `${mapped}.9`, '2001:db8:7:1::1', '2001:DB8:7:ffff::1'];
    for (const address of blocked) expect([address, (await login(address)).status]).toEqual([address, 429]);
    const open = [`${ip.slice(0, -1)}8`, '2001:db8:8::1', '::1'];
    for (const address of open) expect([address, (await login(address)).status]).toEqual([address, 200]);
  });

  it('rejects users of a portal by their own address, never by that of the portal (L32)', async () => {
    const { key } = await createKey(service, ['login:forward']);
    const [blocked, open] = [`${newNetwork()}.7`, `${newNetwork()}.7`];
    const from = (address: string, ip: string) =>
      service.post('/auth/login', {
        body: { login: user.name, password },
        ip,
        headers: { 'x-api-key': key, 'x-user-address': address },
      });
    await block(blocked);
    expect(codeOf(await from(blocked, open))).toBe('429 auth.too_many_attempts');
    expect(codeOf(await from(open, blocked))).toBe('200');
  });

  it('lets requests with a valid token pass, and refreshes', async () => {
    const ip = `${newNetwork()}.7`;
    const { body } = await login(ip);
    await block(ip);
    const { access_token: token, refresh_token } = body;
    expect((await service.get('/user', { token, ip })).status).toBe(200);
    expect((await service.post('/auth/check-token', { body: { token }, ip })).status).toBe(200);
    expect((await service.post('/auth/reauthenticate', { token, body: { password }, ip })).status).toBe(200);
    expect((await service.post('/auth/check-token', { body: { refresh_token }, ip })).status).toBe(200);
  });

  it('takes effect on other instances, and ends there with the removal (L32)', async () => {
    const ip = `${newNetwork()}.7`;
    expect((await login(ip, there)).status).toBe(200);
    const id = await block(ip);
    await until(async () => (await login(ip, there)).status === 429);
    expect((await service.delete(`/address-block/${id}`, service.admin)).status).toBe(204);
    expect((await login(ip)).status).toBe(200);
    await until(async () => (await login(ip, there)).status === 200);
    expect(codeOf(await service.delete(`/address-block/${id}`, service.admin))).toBe('404 address_block.not_found');
  });

  it('rejects a network that was blocked while an instance receives no notifications (L32)', async () => {
    const ip = `${newNetwork()}.7`;
    expect((await login(ip, there)).status).toBe(200);
    await listening.cut();
    await block(ip);
    expect((await login(ip, there)).status).toBe(429);
    expect((await login(`${newNetwork()}.7`, there)).status).toBe(200);
    await listening.restore();
  });

  it('ends by itself at the latest end of the blocks of an address, and is then removed', async () => {
    const network = newNetwork();
    const long = await block(`${network}.0/25`, { expires_at: inSeconds(60) });
    await block(`${network}.0/24`, { expires_at: inSeconds(1) });
    const listed = async () => {
      const { body } = await service.get(`/address-block/list?network=${network}.0/24`, service.admin);
      return (body.items as { network: string }[]).map((item) => item.network).sort();
    };
    expect(await listed()).toEqual([`${network}.0/24`, `${network}.0/25`]);
    await until(async () => (await login(`${network}.200`)).status === 200);
    expect(await listed()).toEqual([`${network}.0/25`]);
    expect((await login(`${network}.7`)).status).toBe(429);
    await service.delete(`/address-block/${long}`, service.admin);
    await service.inside<{ removeExpired: () => Promise<void> }>('AddressBlocksRepository').removeExpired();
    expect(await service.rows('select 1 from address_blocks where expires_at <= now()')).toEqual([]);
  });

  it('rejects networks with the own address, a trusted proxy or a portal of the last day (L33)', async () => {
    const own = newNetwork();
    const at = async (network: string, ip?: string) => codeOf(await create(network, {}, service.admin, ip));
    const taken = '409 address_block.own_address';
    expect(await at(`${own}.0/24`, `${own}.7`)).toBe(taken);
    expect(await at(`::ffff:${own}.7`, `${own}.7`)).toBe(taken);
    for (const network of ['127.0.0.0/8', '127.0.0.1', '::ffff:127.0.0.0/104'])
      expect([network, await at(network)]).toEqual([network, taken]);
    const { key, key_id } = await createKey(service, ['login:forward']);
    const portal = `${newNetwork()}.7`;
    const headers = { 'x-api-key': key, 'x-user-address': `${newNetwork()}.7` };
    await service.post('/auth/login', { body: { login: user.name, password }, ip: portal, headers });
    await until(async () => (await service.rows('select 1 from keys where last_used_ip = $1', [portal])).length > 0);
    expect(await at(`${portal.slice(0, -1)}0/24`)).toBe(taken);
    await service.rows(`update keys set last_used_at = now() - interval '25 hours' where key_id = $1`, [key_id]);
    expect(await at(`${portal.slice(0, -1)}0/24`)).toBe('201');
  });

  it('rejects networks that are too wide, and times in the past or too far ahead (L33)', async () => {
    const faultOf = async (network: string, fields: object = {}) => {
      const { status, body } = await create(network, fields);
      return [status, (body.errors as { pointer: string }[] | undefined)?.[0]?.pointer];
    };
    const mapped = ['::ffff:198.0.0.0/103', '::ffff:198.51.100.1/64', '::ffff:198.51.100.1/32'];
    for (const network of ['198.0.0.0/7', '2001:db8::/31', ...mapped, '0.0.0.0/0', '::/0', '198.51.100'])
      expect([network, await faultOf(network)]).toEqual([network, [400, '/network']]);
    for (const seconds of [-1, 30 * day + 60])
      expect(await faultOf('198.51.100.1', { expires_at: inSeconds(seconds) })).toEqual([400, '/expires_at']);
    expect(await faultOf('198.51.100.1', { reason: 'x'.repeat(201) })).toEqual([400, '/reason']);
    await block('9.9.9.9/8', { expires_at: inSeconds(1) });
  });

  it('rejects the block beyond 10,000', async () => {
    await service.rows(`
      insert into address_blocks (address_block_id, network, created_by, expires_at)
      select uuid_v7(), ('100.' || n / 256 || '.' || n % 256 || '.0/24')::cidr, uuid_v7(), now() + interval '1 hour'
      from generate_series(1, 10000) n`);
    expect(codeOf(await create(`${newNetwork()}.7`))).toBe('409 address_block.too_many');
    expect((await login('100.3.9.7')).status).toBe(429);
    await service.rows(`delete from address_blocks where network <<= '100.0.0.0/8'`);
    expect((await login('100.3.9.7')).status).toBe(200);
  });

  it('needs a recent authentication to create and remove, and records both', async () => {
    const id = await block('198.51.100.3', { reason: 'Stuffing' });
    const recorded = await service.rows<{ event_type: string; changes: Record<string, object> }>(
      'select event_type, changes from events where target_id = $1',
      [id],
    );
    expect(recorded).toEqual([
      {
        event_type: 'address_block.created',
        changes: {
          network: { after: '198.51.100.3/32' },
          reason: { after: 'Stuffing' },
          expires_at: { after: expect.any(String) as string },
        },
      },
    ]);
    const stale = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    await changeSession(service, stale, `auth_time = now() - interval '1 hour'`);
    const needed = '401 auth.reauthentication_required';
    expect(codeOf(await create('198.51.100.4', {}, stale))).toBe(needed);
    expect(codeOf(await service.delete(`/address-block/${id}`, stale))).toBe(needed);
    expect((await service.get('/address-block/list', stale)).status).toBe(200);
    await service.delete(`/address-block/${id}`, service.admin);
    expect(
      await service.rows(`select changes from events where target_id = $1 and event_type like '%removed'`, [id]),
    ).toEqual([{ changes: { network: { before: '198.51.100.3/32' }, reason: { before: 'Stuffing' } } }]);
  });
});
