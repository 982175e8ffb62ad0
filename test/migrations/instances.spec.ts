import { readdirSync } from 'node:fs';
import { Pool } from 'pg';
import { adminEmail, appSecret, password } from '../support/service';
import { ServiceProcess } from '../support/service-process';
import { createTestDatabase } from '../support/test-database';

const migrations = readdirSync('migrations').filter((name) => name.endsWith('.ts')).length;

describe.each([
  [3, 'with ADMIN_PASSWORD', { ADMIN_EMAIL: adminEmail, ADMIN_PASSWORD: password }, 0],
  [2, 'with a one-time link', {}, 1],
])('%i instances that start at once on one empty database, %s', (many, _name, admin, links) => {
  it('migrate once, create one signing key and one administrator, and serve on all instances (F14)', async () => {
    const database = await createTestDatabase({ empty: true });
    const sql = new Pool({ connectionString: database.url, max: 1 });
    const settings = { DATABASE_URL: database.url, DATABASE_POOL_MAX: '4', APP_SECRET: appSecret, ...admin };
    const instances = Array.from({ length: many }, () => new ServiceProcess(settings));
    try {
      await Promise.all(instances.map((instance) => instance.ready()));
      const count = async (what: string) =>
        (await sql.query(`select count(*)::integer as count from ${what}`)).rows[0].count as number;
      expect(await count('migrations')).toBe(migrations);
      expect(await count('(select distinct name from migrations) names')).toBe(migrations);
      expect(await count('signing_keys')).toBe(1);
      expect(await count(`users where user_type = 'system' and name = 'administrator'`)).toBe(1);
      expect(await count('users')).toBe(1);
      const jobs = await count('graphile_worker.migrations');
      expect(await count('(select distinct id from graphile_worker.migrations) ids')).toBe(jobs);

      const keySets = await Promise.all(instances.map((instance) => instance.get('/.well-known/jwks.json')));
      expect(new Set(keySets.map(({ text }) => text)).size).toBe(1);
      const output = instances.map((instance) => instance.output).join('\n');
      expect(output.match(/\/auth\/reset\/\S+/g) ?? []).toHaveLength(links);
      if (links === 0) {
        const login = await (instances[0] as ServiceProcess).login('administrator');
        const answers = await Promise.all(instances.map((instance) => instance.get('/user', login)));
        expect(answers.map(({ status }) => status)).toEqual(instances.map(() => 200));
      }
      // An instance that waits for the migrations of another instance logs this.
      const faults = output
        .split('\n')
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
