import { Client } from 'pg';
import { Cluster } from '../../support/cluster';
import { addManyUsers } from '../../support/many-users';
import { password, type TestAnswer } from '../../support/service';
import type { ServiceProcess } from '../../support/service-process';
import { until } from '../../support/until';

describe('changes of a role beside bulk changes that grant roles', () => {
  let cluster: Cluster;
  let instance: ServiceProcess;
  let token: string;
  beforeAll(async () => {
    cluster = await Cluster.create();
    // The requests of the one actor must wait for locks, not for a place in the admission.
    instance = await cluster.start({ DATABASE_POOL_MAX: '20' });
    token = await cluster.login(instance);
    for (const carrier of ['one', 'two', 'three']) await addManyUsers(cluster, 2, carrier);
    const body = { name: 'courier', user_types: ['carrier'], permissions: [] };
    expect((await instance.send('POST', '/role/create', { token, body })).status).toBe(201);
  });
  afterAll(() => cluster.close());

  const describeRole = (description: string) =>
    instance.send('PATCH', '/role/courier', { token, body: { description } });
  const grant = (carrier: string, field = 'roles_add') =>
    instance.send('PATCH', `/user/all?carrier_id=${carrier}`, { token, body: { [field]: ['courier'] } });
  const create = (name: string) => {
    const user = { user_type: 'carrier', carrier_id: 'new', name, email: `${name}@example.com`, roles: ['courier'] };
    return instance.send('POST', '/user/create', { token, body: { ...user, password, must_change_password: false } });
  };
  const waiting = async (count: number) => {
    const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return (await cluster.rows(waits)).length === count;
  };
  /** Runs statements when users change. */
  const onChange = (statements: string) =>
    cluster.rows(`
      create or replace function on_change() returns trigger language plpgsql set lock_timeout = 0
      as $$ begin ${statements} return null; end $$;
      create or replace trigger on_change after update on users for each statement execute function on_change()`);

  it('waits for running bulk changes and delays later ones, but not the creation of users (B35)', async () => {
    const gate = new Client({ connectionString: cluster.databaseUrl });
    await gate.connect();
    let answers: Promise<TestAnswer[]>;
    try {
      await onChange('perform pg_advisory_xact_lock_shared(77);');
      await gate.query('begin; select pg_advisory_xact_lock(77)');
      const running = grant('one');
      await until(() => waiting(1));
      const changed = describeRole('Rides');
      await until(() => waiting(2));
      const later = grant('two');
      await until(() => waiting(3));
      expect((await create('meanwhile')).status).toBe(201);
      expect(await waiting(3)).toBe(true);
      await gate.query('commit');
      answers = Promise.all([running, changed, later]);
      expect((await answers).map(({ status }) => status)).toEqual([200, 200, 200]);
    } finally {
      await gate.end();
    }
  });

  it('succeeds, as does each creation of a user with the role, beside endless bulk changes (B35)', async () => {
    await onChange('perform pg_sleep(0.7);');
    let stop = false;
    const grants: number[] = [];
    const endless = async (carrier: string) => {
      for (let round = 0; !stop; round++)
        grants.push((await grant(carrier, round % 2 === 0 ? 'roles_add' : 'roles_remove')).status);
    };
    const loops = ['one', 'two', 'three'].map(endless);
    const changes: number[] = [];
    const creates: number[] = [];
    for (let round = 0; round < 3; round++) {
      const [change, creation] = await Promise.all([describeRole(`Round ${round}`), create(`beside-${round}`)]);
      changes.push(change.status);
      creates.push(creation.status);
    }
    stop = true;
    await Promise.all(loops);
    expect({ changes, creates }).toEqual({ changes: [200, 200, 200], creates: [201, 201, 201] });
    expect(grants.filter((status) => status !== 200)).toEqual([]);
  });
});
