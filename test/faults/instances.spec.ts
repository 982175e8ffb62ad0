import { readdirSync } from 'node:fs';
import { Pool } from 'pg';
import { appSecret, password } from '../support/service';
import { freePort, type ServiceProcess, startServiceProcess } from '../support/built-program';
import { createTestDatabase } from '../support/test-database';

const migrations = readdirSync('migrations').filter((name) => name.endsWith('.ts'));

describe.each([
  [5, 'with ADMIN_PASSWORD', { ADMIN_EMAIL: 'admin@example.com', ADMIN_PASSWORD: password }],
  [2, 'with a one-time link', {}],
])('%i instances that start at once on one empty database, %s', (many, _name, admin) => {
  it('migrates once, creates one signing key and one administrator, and serves on all instances (F14)', async () => {
    const database = await createTestDatabase({ empty: true });
    const sql = new Pool({ connectionString: database.url, max: 1 });
    const ports = await Promise.all(Array.from({ length: many }, () => freePort()));
    const env = {
      DATABASE_URL: database.url,
      DATABASE_POOL_MAX: '4',
      APP_SECRET: appSecret,
      PUBLIC_URL: 'http://localhost:3000',
      ...admin,
    };
    const starts = await Promise.allSettled(ports.map((port) => startServiceProcess({ ...env, PORT: String(port) })));
    const instances = starts.flatMap((start): ServiceProcess[] => (start.status === 'fulfilled' ? [start.value] : []));
    try {
      expect(starts.flatMap((start) => (start.status === 'rejected' ? [start.reason as Error] : []))).toEqual([]);
      const ready = await Promise.all(instances.map(({ url }) => fetch(`${url}/health/ready`)));
      expect(ready.map(({ status }) => status)).toEqual(Array(many).fill(200));

      const count = async (table: string) =>
        (await sql.query(`select count(*)::int as count from ${table}`)).rows[0].count as number;
      expect(await count('migrations')).toBe(migrations.length);
      expect(await count('(select distinct name from migrations) names')).toBe(migrations.length);
      expect(await count('signing_keys')).toBe(1);
      expect(await count("users where user_type = 'system' and name = 'administrator'")).toBe(1);
      expect(await count('users')).toBe(1);
      expect(await count('graphile_worker.migrations')).toBe(
        await count('(select distinct id from graphile_worker.migrations) ids'),
      );

      const keySets = await Promise.all(
        instances.map(async ({ url }) => (await fetch(`${url}/.well-known/jwks.json`)).json()),
      );
      expect(new Set(keySets.map((keys) => JSON.stringify(keys))).size).toBe(1);
      const links = instances.flatMap(({ output }) => output().match(/\/auth\/reset\/\S+/g) ?? []);
      expect(links).toHaveLength('ADMIN_PASSWORD' in admin ? 0 : 1);
      if ('ADMIN_PASSWORD' in admin) await assertOneTokenServesEverywhere(instances);
      // An instance that waits for the migrations of another instance logs this.
      const faults = instances
        .flatMap(({ output }) => output().split('\n'))
        .filter((line) => /"level":"(warn|error|fatal)"/.test(line))
        .filter((line) => !line.includes('"waits for another instance, which migrates the database"'));
      expect(faults).toEqual([]);
      expect(await Promise.all(instances.map((instance) => instance.stop()))).toEqual(Array(many).fill(0));
    } finally {
      await Promise.all(instances.map((instance) => instance.kill()));
      await sql.end();
      await database.drop();
    }
  });
});

async function assertOneTokenServesEverywhere(instances: ServiceProcess[]): Promise<void> {
  const login = await fetch(`${instances[0]!.url}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ login: 'administrator', password }),
  });
  const { access_token } = (await login.json()) as { access_token: string };
  const answers = await Promise.all(
    instances.map(({ url }) => fetch(`${url}/user`, { headers: { authorization: `Bearer ${access_token}` } })),
  );
  expect(answers.map(({ status }) => status)).toEqual(instances.map(() => 200));
}
