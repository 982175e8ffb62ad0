import { randomUUID } from 'node:crypto';
import { until } from '../support/until';
import { type TestAnswer, TestService } from '../support/service';
import { ServiceProcess } from '../support/service-process';
import { TcpProxy } from '../support/tcp-proxy';

const createsAtOnce = 8;

/** A create request that is retried until it gets a response. */
interface Create {
  key: string;
  body: { name: string };
}

describe('creates with an Idempotency-Key whose response never arrives', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await TestService.start();
  });
  afterAll(() => service.close());

  const newCreate = (): Create => {
    const name = `p-${randomUUID().slice(0, 13)}`;
    return {
      key: randomUUID(),
      body: { user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com` } as object & { name: string },
    };
  };
  const send = (to: ServiceProcess, { key, body }: Create): Promise<TestAnswer> =>
    to.send('POST', '/user/create', { token: service.admin.token, body, headers: { 'idempotency-key': key } });
  const sendHere = ({ key, body }: Create): Promise<TestAnswer> =>
    service.post('/user/create', { token: service.admin.token, body, headers: { 'idempotency-key': key } });
  const idsOf = async ({ body }: Create) =>
    (await service.rows<{ user_id: string }>('select user_id from users where name = $1', [body.name])).map(
      ({ user_id }) => user_id,
    );
  const kill = () => 'killed';

  describe('on an instance behind a proxy', () => {
    let proxy: TcpProxy;
    let instance: ServiceProcess;
    beforeAll(async () => {
      proxy = await TcpProxy.start(service.config.DATABASE_URL);
      instance = await ServiceProcess.beside(service, {
        DATABASE_URL: proxy.url,
        DATABASE_DIRECT_URL: service.config.DATABASE_URL,
      });
    });
    afterAll(async () => {
      await instance.kill();
      await proxy.cut();
    });

    it('responds with 503 when the connection breaks after COMMIT, and replays the result (F3)', async () => {
      const create = newCreate();
      const held = proxy.holdAnswerTo('COMMIT', 'insert into users');
      const first = send(instance, create);
      await held;
      expect(await idsOf(create)).toHaveLength(1);
      await proxy.cut();
      expect([(await first).status, (await first).body.code]).toEqual([503, 'service.database_unavailable']);
      await proxy.restore();
      await instance.ready();
      const second = await send(instance, create);
      expect([second.status, [second.body.user_id]]).toEqual([201, await idsOf(create)]);
    });

    it('replays the response on another instance after kill -9 between commit and response (F3)', async () => {
      const create = newCreate();
      const held = proxy.holdAnswerTo('COMMIT', 'insert into users');
      const first = send(instance, create).catch(kill);
      await held;
      await instance.kill();
      expect(await first).toBe('killed');
      const made = await idsOf(create);
      expect(made).toHaveLength(1);
      const again = await sendHere(create);
      expect([again.status, [again.body.user_id]]).toEqual([201, made]);
    });
  });

  it('creates exactly one user per key when requests are retried across kill -9 (F1, F12)', async () => {
    const creates: Create[] = [];
    let [answered, killed] = [0, 0];
    const sendSome = (to: ServiceProcess, count: number) => {
      const some = Array.from({ length: count }, newCreate);
      creates.push(...some);
      const settled = some.map((create) =>
        send(to, create).then(
          ({ status }) => (status === 201 ? answered++ : killed++),
          () => killed++,
        ),
      );
      return Promise.all(settled);
    };

    // The first process is killed at any moment after its first response.
    const first = await ServiceProcess.beside(service);
    const any = sendSome(first, createsAtOnce);
    await first.until(() => answered > 0);
    await first.kill();
    await any;

    // The second process is killed while transactions wait for their last statements.
    const second = await ServiceProcess.beside(service);
    const holder = await service.sql.connect();
    await holder.query('begin; lock table events in exclusive mode');
    const stuck = sendSome(second, 4);
    await second.until(async () => {
      const { rows } = await holder.query('select 1 from pg_locks where relation = $1::regclass and not granted', [
        'events',
      ]);
      return rows.length > 0;
    });
    await second.kill();
    await stuck;
    await holder.query('rollback');
    holder.release();

    const before = await Promise.all(creates.map(idsOf));
    const lost = await service.rows('select 1 from idempotency_keys where status is null');
    expect(answered).toBeGreaterThan(0);
    expect(killed).toBeGreaterThanOrEqual(4);
    expect(before.flat().length).toBeGreaterThanOrEqual(answered);
    expect(lost.length).toBeGreaterThan(0);

    for (const [index, create] of creates.entries()) {
      let answer = await sendHere(create);
      await until(async () => {
        if (answer.status !== 201) answer = await sendHere(create);
        return answer.status === 201;
      });
      const made = await idsOf(create);
      expect(made).toEqual([answer.body.user_id]);
      if (before[index]!.length > 0) expect(made).toEqual(before[index]);
    }
  });
});
