import { randomUUID } from 'node:crypto';
import type { PoolClient } from 'pg';
import { createKey } from '../support/data/keys';
import { inTransaction, lockWaits } from '../support/locks';
import { chunk, RawConnection, requestHead } from '../support/network/raw-connection';
import { password, type TestAnswer, TestService } from '../support/service';
import { ServiceProcess } from '../support/process/service-process';
import { TcpProxy } from '../support/network/tcp-proxy';
import { until } from '../support/until';

describe('requests with an Idempotency-Key', () => {
  let service: TestService;
  let token: string;
  beforeAll(async () => {
    service = await TestService.start();
    ({ token } = service.admin);
  });
  afterAll(() => service.close());
  beforeEach(() => service.rows('delete from idempotency_keys'));

  const person = () => {
    const name = `p-${randomUUID().slice(0, 13)}`;
    return { user_type: 'carrier', carrier_id: 'c1', name, email: `${name}@example.com` };
  };
  const create = (key: string, body: object, by = token) =>
    service.post('/user/create', { token: by, body, headers: { 'idempotency-key': key } });
  const named = (name: string) => service.rows('select user_id from users where name = $1', [name]);
  const keys = () => service.rows('select * from idempotency_keys');
  const pass = (interval: string) =>
    service.rows(
      `
        update idempotency_keys
        set created_at = created_at - $1::interval, claimed_until = claimed_until - $1::interval`,
      [interval],
    );
  /** Runs work while a transaction makes creates wait in theirs. */
  const whileLocked = (work: (held: PoolClient) => Promise<void>) =>
    inTransaction(service, async (held) => {
      await held.query('lock table events in exclusive mode');
      await work(held);
    });
  const brief = ({ status, body }: TestAnswer) => [status, body.code];

  it('creates one user from 8 parallel creates with one key (F12)', async () => {
    // The hash of the password lets the requests overlap.
    const body = { ...person(), password };
    const answers = await Promise.all(Array.from({ length: 8 }, () => create('one', body)));
    const made = answers.filter(({ status }) => status === 201);
    expect(made.length).toBeGreaterThan(0);
    expect(new Set(made.map(({ text }) => text)).size).toBe(1);
    const waiting = answers.filter(({ status }) => status !== 201);
    expect(waiting.length).toBeGreaterThan(0);
    for (const answer of waiting)
      expect([...brief(answer), answer.headers['retry-after']]).toEqual([409, 'idempotency.in_progress', '2']);
    expect(await named(body.name)).toHaveLength(1);
    expect(
      await service.rows(`select 1 from events where event_type = 'user.created' and target_id = $1`, [
        made[0]!.body.user_id,
      ]),
    ).toHaveLength(1);
  });

  it('replays the first response byte for byte, with its headers, regardless of later changes (F12)', async () => {
    const body = person();
    const first = await create('again', { ...body, attributes: { b: 1, a: [{ d: 1, c: 2 }] } });
    expect(first.status).toBe(201);
    await service.mailbox.take(body.email);
    await service.patch(`/user/${first.body.user_id}`, { token, body: { first_name: 'Changed' } });
    const second = await create('again', { attributes: { a: [{ c: 2, d: 1 }], b: 1 }, ...body });
    expect(second.text).toBe(first.text);
    for (const name of ['etag', 'location', 'content-type', 'cache-control'])
      expect(second.headers[name]).toBe(first.headers[name]);
    expect([second.status, second.headers['location']]).toEqual([201, `/user/${first.body.user_id}`]);
    expect(second.headers['x-request-id']).not.toBe(first.headers['x-request-id']);
    expect(service.mailbox.mails.filter(({ to }) => to.includes(body.email))).toHaveLength(0);
  });

  it('rejects one key for two different requests with 422, without effect (F12)', async () => {
    const body = { ...person(), password };
    expect((await create('mine', body)).status).toBe(201);
    const other = person();
    const changed = [{ first_name: '' }, { attributes: {} }, { password: `${password}.` }];
    for (const wrong of [other, ...changed.map((fields) => ({ ...body, ...fields }))])
      expect(brief(await create('mine', wrong))).toEqual([422, 'idempotency.key_reused']);
    expect(await named(other.name)).toEqual([]);
    expect((await create('mine', body)).status).toBe(201);
  });

  it('separates the keys of different callers (F12)', async () => {
    const deputy = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    const [mine, theirs] = [person(), person()];
    const first = await create('1', mine);
    const second = await create('1', theirs, deputy.token);
    expect([first.status, second.status]).toEqual([201, 201]);
    // The same body under another key is a new request: it conflicts with the name and gets no
    // stored response.
    expect(brief(await create('2', mine, deputy.token))).toEqual([
      409,
      expect.stringMatching(/^user\.(name|email)_taken$/),
    ]);
    expect((await create('1', mine)).text).toBe(first.text);
    expect((await create('1', theirs, deputy.token)).text).toBe(second.text);
  });

  it('identifies a request by method, path and key, and compares the query (F12)', async () => {
    const { name } = await service.createUser();
    const other = await service.createUser();
    const headers = { 'idempotency-key': 'same' };
    const change = (query: string) =>
      service.patch(`/user/all?${query}`, { token, headers, body: { timezone: 'Asia/Tokyo' } });
    const first = await change(`name=${name}`);
    expect([first.status, first.body.changed]).toEqual([200, 1]);
    for (const query of [`name=${other.name}`, `name=${name}&status=active`])
      expect(brief(await change(query))).toEqual([422, 'idempotency.key_reused']);
    expect((await create('same', person())).status).toBe(201);
    const removed = await service.delete(`/user/all?name=${name}`, { token, headers });
    expect([removed.status, removed.body.changed]).toEqual([200, 1]);
    expect((await change(`name=${name}`)).text).toBe(first.text);
    expect(await keys()).toHaveLength(3);
  });

  it('rejects a retry by a caller who lost the permission (F12)', async () => {
    const deputy = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    const body = person();
    expect((await create('k', body, deputy.token)).status).toBe(201);
    await service.patch(`/user/${deputy.user_id}`, { token, body: { roles: ['auditor'] } });
    expect(brief(await create('k', body, deputy.token))).toEqual([403, 'access.denied']);
  });

  it('accepts a key again after a day, and removes old keys step by step (F12)', async () => {
    const body = person();
    const first = await create('old', body);
    for (let n = 0; n < 12; n++) await create(`swept-${n}`, {});
    expect(await keys()).toHaveLength(13);
    await pass('23 hours 59 minutes');
    expect((await create('old', body)).text).toBe(first.text);
    expect(await keys()).toHaveLength(13);
    await pass('1 minute 1 second');
    expect(brief(await create('old', body))).toEqual([409, expect.stringMatching(/^user\.(name|email)_taken$/)]);
    expect(await keys()).toHaveLength(3);
    await create('next', {});
    expect(await keys()).toHaveLength(2);
  });

  it('replays rejections under their key (F12)', async () => {
    const body = person();
    const { user_id } = await service.createUser(body);
    const first = await create('taken', body);
    expect(brief(first)).toEqual([409, expect.stringMatching(/^user\.(name|email)_taken$/)]);
    const invalid = await create('invalid', { ...body, email: 'no address' });
    expect(brief(invalid)).toEqual([400, 'request.invalid']);
    await service.delete(`/user/${user_id}`, { token });
    const again = await create('taken', body);
    expect(again.body).toEqual({ ...first.body, request_id: again.headers['x-request-id'] });
    expect(again.headers['content-type']).toBe(first.headers['content-type']);
    expect((await create('invalid', { ...body, email: 'no address' })).body.errors).toEqual(invalid.body.errors);
    expect((await create('another', body)).status).toBe(201);
  });

  it('stores no server error, so that the same key succeeds later (F12)', async () => {
    const body = person();
    await service.rows('alter table events rename to events_away');
    try {
      expect((await create('fault', body)).status).toBe(500);
      expect(await keys()).toEqual([]);
    } finally {
      await service.rows('alter table events_away rename to events');
    }
    expect((await create('fault', body)).status).toBe(201);
  });

  it('stores no rate-limit error, so that the same key gets another response later (F12)', async () => {
    const { name } = await service.createUser();
    const { token: by } = await service.loginAs({ carrier_id: 'north', roles: ['carrier_administrator'] });
    const body = { ...person(), carrier_id: 'north', name };
    await service.rows('delete from rate_limits');
    expect((await service.post('/user/create', { token: by, body })).status).toBe(409);
    // The counter of conflicts is the only one.
    await service.rows('update rate_limits set hits = 1000000');
    expect(brief(await create('limited', body, by))).toEqual([429, 'request.rate_limited']);
    expect(await keys()).toEqual([]);
    await service.rows('delete from rate_limits');
    expect(brief(await create('limited', body, by))).toEqual([409, 'user.name_taken']);
  });

  it('accepts keys of 1 to 255 ASCII characters, and stores nothing for other keys or no key (F12)', async () => {
    for (const key of ['', '   ', 'a b', 'a, b', 'x'.repeat(256), '\u00e4']) {
      const body = person();
      const answer = await create(key, body);
      expect([key, ...brief(answer)]).toEqual([key, 400, 'request.invalid']);
      expect(answer.body.errors).toMatchObject([{ parameter: 'Idempotency-Key', code: 'parameter.malformed' }]);
      expect([await named(body.name), await keys()]).toEqual([[], []]);
    }
    expect((await create('!', person())).status).toBe(201);
    expect((await create('~'.repeat(255), person())).status).toBe(201);
    expect(await keys()).toHaveLength(2);
    const body = person();
    expect((await service.post('/user/create', { token, body })).status).toBe(201);
    expect(brief(await service.post('/user/create', { token, body }))).toEqual([409, expect.stringMatching(/taken$/)]);
    expect(await keys()).toHaveLength(2);
  });

  describe('while creates wait in their transactions', () => {
    it('takes over the claim of a stalled request after its lease, which then commits nothing (F3)', () =>
      whileLocked(async (held) => {
        const body = person();
        const first = create('lease', body);
        await lockWaits(service);
        expect(brief(await create('lease', body))).toEqual([409, 'idempotency.in_progress']);
        await service.rows(`update idempotency_keys set claimed_until = now() - interval '1 second'`);
        expect(brief(await create('lease', person()))).toEqual([422, 'idempotency.key_reused']);
        const second = create('lease', body);
        await lockWaits(service, 2);
        await held.query('rollback');
        expect(brief(await first)).toEqual([409, 'idempotency.in_progress']);
        const made = await second;
        expect(made.status).toBe(201);
        expect(await named(body.name)).toEqual([{ user_id: made.body.user_id }]);
        expect((await create('lease', body)).text).toBe(made.text);
      }));

    it('renews the claim of a slow request (F3)', () =>
      whileLocked(async (held) => {
        const slow = create('slow', person());
        await lockWaits(service);
        await service.rows(`update idempotency_keys set claimed_until = created_at`);
        await until(
          async () => (await service.rows('select 1 from idempotency_keys where claimed_until > now()')).length > 0,
        );
        await held.query('rollback');
        expect((await slow).status).toBe(201);
      }));
  });

  it('stores no dry run, so that previews fill no disk and share a key with the real request (B32)', async () => {
    const body = person();
    await create('made', body);
    await service.rows('delete from idempotency_keys');
    const headers = { 'idempotency-key': 'one' };
    const change = (query: string) =>
      service.patch(`/user/all?name=${body.name}${query}`, { token, headers, body: { timezone: 'Asia/Tokyo' } });
    const remove = (query: string) => service.delete(`/user/all?name=${body.name}${query}`, { token, headers });
    const load = (query: string) =>
      service.post(`/user/import?${query.slice(1)}`, {
        token,
        headers: { ...headers, 'content-type': 'application/x-ndjson' },
        body: JSON.stringify({ user_type: 'carrier', carrier_id: 'c1', name: 'loaded', email: 'loaded@example.com' }),
      });
    for (const send of [change, load, remove]) {
      await service.rows('delete from idempotency_keys');
      for (let n = 0; n < 2; n++) expect((await send('&dry_run=true')).body.kind).toBe('preview');
      expect(await keys()).toEqual([]);
      const first = await send('');
      expect([first.status, first.body.changed]).toEqual([200, 1]);
      expect((await send('')).text).toBe(first.text);
      expect((await send('&dry_run=true')).body.kind).toBe('preview');
      expect(await keys()).toHaveLength(1);
    }
  });

  it('limits the requests with a key of a user together with their API keys, and still replays (B32)', async () => {
    const deputy = await service.loginAs({ user_type: 'system', roles: ['administrator'] });
    const { key } = await createKey(service, ['user:create'], {}, deputy);
    await service.rows('delete from rate_limits');
    const body = person();
    const first = await create('first', body, deputy.token);
    await service.rows('update rate_limits set hits = 49999');
    expect((await create('last', person(), key)).status).toBe(201);
    for (const by of [deputy.token, key]) {
      const refused = await create('more', person(), by);
      expect(brief(refused)).toEqual([429, 'request.rate_limited']);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(86_000);
      expect(refused.headers['ratelimit-policy']).toBe('"idempotency-keys";q=50000;w=86400');
    }
    expect((await create('first', body, deputy.token)).text).toBe(first.text);
    expect((await create('more', person())).status).toBe(201);
    expect((await service.post('/user/create', { token: deputy.token, body: person() })).status).toBe(201);
    await service.rows(`update rate_limits set ends_at = now() - interval '1 second'`);
    expect((await create('more', person(), key)).status).toBe(201);
  });

  it('counts a stored response by its size (B32)', async () => {
    const rows = Array.from({ length: 100 }, () => JSON.stringify({ user_type: 'carrier', name: '!', email: '!' }));
    await service.rows('delete from rate_limits');
    const { text } = await service.post('/user/import', {
      token,
      headers: { 'idempotency-key': 'large', 'content-type': 'application/x-ndjson' },
      body: rows.join('\n'),
    });
    expect(text.length).toBeGreaterThan(20_000);
    const [counted] = await service.rows<{ hits: number }>('select hits from rate_limits');
    expect(counted?.hits).toBe(1 + Math.floor(JSON.stringify({ body: JSON.parse(text) as unknown }).length / 2_048));
  });

  it('removes a purged user from stored responses and keys, and repeats no effect (Z19)', async () => {
    const body = { ...person(), first_name: 'Unmistakable', password };
    const [made, other] = [await create(`create:${body.email}`, body), await create('other', person())];
    expect((await service.delete(`/user/${made.body.user_id}?purge=true`, { token })).status).toBe(204);
    const rows = JSON.stringify(await service.rows('select t::text from idempotency_keys t'));
    expect(rows).toContain(other.body.user_id);
    for (const value of [made.body.user_id, body.name, 'Unmistakable', password]) expect(rows).not.toContain(value);
    expect(brief(await create(`create:${body.email}`, body))).toEqual([422, 'idempotency.key_reused']);
    expect(await named(body.name)).toEqual([]);

    const deputy = await service.loginAs({ user_type: 'system', roles: ['operator'] });
    await create('k', person(), deputy.token);
    await service.delete(`/user/${deputy.user_id}?purge=true`, { token });
    expect(await service.rows('select 1 from idempotency_keys where user_id = $1', [deputy.user_id])).toEqual([]);
  });

  describe('for a file', () => {
    /** Returns a file with one user per row. */
    const file = (columns = 'user_type,carrier_id,name,email,first_name', count = 40) => {
      const prefix = randomUUID().slice(0, 8);
      const padding = 'x'.repeat(60);
      const rows = Array.from(
        { length: count },
        (_, n) => `carrier,c1,f${n}-${prefix},f${n}-${prefix}@example.com,${padding}`,
      );
      return `${columns}\n${rows.join('\n')}\n`;
    };
    const headers = (key: string) => ({ 'idempotency-key': key, 'content-type': 'text/csv' });
    const load = (key: string, body: string) => service.post('/user/import', { token, headers: headers(key), body });
    /** Sends the head and the beginning of a file. */
    const begin = async (key: string, text: string) => {
      const connection = await RawConnection.open(service.port);
      const head = { authorization: `Bearer ${token}`, 'transfer-encoding': 'chunked', connection: 'close' };
      await connection.send(requestHead('POST', '/user/import', { ...head, ...headers(key) }) + chunk(text));
      return connection;
    };

    it('replays the response to the same bytes in other parts, and rejects other bytes (F12)', async () => {
      const text = file();
      const first = await load('file', text);
      expect([first.status, first.body.changed]).toEqual([200, 40]);
      const connection = await begin('file', text.slice(0, 1_000));
      for (let from = 1_000; from < text.length; from += 700)
        await connection.send(chunk(text.slice(from, from + 700)));
      await connection.send(chunk(''));
      await connection.ended;
      expect(connection.status).toBe(200);
      expect(connection.received).toContain(first.text);
      for (const other of [`${text}\n`, text.slice(0, -1), text.replace('f39-', 'f38-')])
        expect(brief(await load('file', other))).toEqual([422, 'idempotency.key_reused']);
    });

    it('rejects the same key while the file is received (F12)', async () => {
      const text = file();
      const connection = await begin('sending', text.slice(0, 1_000));
      await until(async () => (await keys()).length === 1);
      expect(brief(await load('sending', text))).toEqual([409, 'idempotency.in_progress']);
      await connection.send(chunk(text.slice(1_000)) + chunk(''));
      await connection.ended;
      expect(connection.status).toBe(200);
      expect((await load('sending', text)).body.changed).toBe(40);
    });

    it('stores a rejection that came after a part of the file for the whole file (F12)', async () => {
      const text = file('user_type,carrier_id,name,email,no_such_column', 1_500);
      const first = await load('wrong', text);
      expect(brief(first)).toEqual([400, 'request.invalid']);
      expect((await load('wrong', text)).body.errors).toEqual(first.body.errors);
      expect(await keys()).toHaveLength(1);
      expect(brief(await load('wrong', text.replace('f1499-', 'f1498-')))).toEqual([422, 'idempotency.key_reused']);
    });
  });

  describe('whose response never arrives', () => {
    interface Create {
      key: string;
      body: { name: string };
    }
    const newCreate = (): Create => ({ key: randomUUID(), body: person() });
    const send = (to: ServiceProcess, { key, body }: Create): Promise<TestAnswer> =>
      to.send('POST', '/user/create', { token, body, headers: { 'idempotency-key': key } });
    const idsOf = async ({ body }: Create) => (await named(body.name)).map(({ user_id }) => user_id);

    describe('from an instance behind a proxy', () => {
      let proxy: TcpProxy;
      let instance: ServiceProcess;
      beforeAll(async () => {
        const { DATABASE_URL } = service.config;
        proxy = await TcpProxy.start(DATABASE_URL);
        instance = await ServiceProcess.beside(service, { DATABASE_URL: proxy.url, DATABASE_DIRECT_URL: DATABASE_URL });
      });
      afterAll(async () => {
        await instance.kill();
        await proxy.cut();
      });

      it('are replayed after a 503 because the connection broke after COMMIT (F3)', async () => {
        const creation = newCreate();
        const held = proxy.holdAnswerTo('COMMIT', 'insert into users');
        const first = send(instance, creation);
        await held;
        expect(await idsOf(creation)).toHaveLength(1);
        await proxy.cut();
        expect(brief(await first)).toEqual([503, 'service.database_unavailable']);
        await proxy.restore();
        await instance.ready();
        const second = await send(instance, creation);
        expect([second.status, [second.body.user_id]]).toEqual([201, await idsOf(creation)]);
      });

      it('are replayed by another instance after kill -9 between commit and response (F3)', async () => {
        const creation = newCreate();
        const held = proxy.holdAnswerTo('COMMIT', 'insert into users');
        const first = send(instance, creation).catch(() => 'killed');
        await held;
        await instance.kill();
        expect(await first).toBe('killed');
        const made = await idsOf(creation);
        expect(made).toHaveLength(1);
        const again = await send(service, creation);
        expect([again.status, [again.body.user_id]]).toEqual([201, made]);
      });
    });

    it('create exactly one user per key when they are retried after kill -9 in transactions (F1, F12)', async () => {
      const instance = await ServiceProcess.beside(service);
      const [answered, lost] = [2, 4].map((count) => Array.from({ length: count }, newCreate)) as [Create[], Create[]];
      for (const creation of answered) expect((await send(instance, creation)).status).toBe(201);
      const before = await Promise.all(answered.map(idsOf));

      await whileLocked(async () => {
        const stuck = lost.map((creation) => send(instance, creation).catch(() => 'killed'));
        await lockWaits(service);
        await instance.kill();
        expect(await Promise.all(stuck)).toEqual(lost.map(() => 'killed'));
      });
      expect((await Promise.all(lost.map(idsOf))).flat()).toEqual([]);
      expect(await service.rows('select 1 from idempotency_keys where status is null')).not.toEqual([]);

      // The claim of a killed process expires after seconds.
      await service.rows('update idempotency_keys set claimed_until = now()');
      for (const [index, creation] of [...answered, ...lost].entries()) {
        let answer = await send(service, creation);
        await until(async () => {
          if (answer.status !== 201) answer = await send(service, creation);
          return answer.status === 201;
        });
        expect(await idsOf(creation)).toEqual([answer.body.user_id]);
        if (before[index] !== undefined) expect([answer.body.user_id]).toEqual(before[index]);
      }
    });
  });
});
