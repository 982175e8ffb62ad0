import { Cluster } from '../support/cluster';
import { adminEmail, password } from '../support/service';
import type { ServiceProcess } from '../support/service-process';
import { until } from '../support/until';

describe('fresh authentication on two instances', () => {
  let cluster: Cluster;
  let here: ServiceProcess;
  let there: ServiceProcess;
  beforeAll(async () => {
    cluster = await Cluster.create();
    [here, there] = [await cluster.start(), await cluster.start()];
  });
  afterAll(() => cluster.close());

  it('accepts a reauthentication with the next request on every instance, for old and new tokens (S24)', async () => {
    const { body: login } = await here.send('POST', '/auth/login', { body: { login: adminEmail, password } });
    const attempt = async (instance: ServiceProcess, token: string) =>
      `${(await instance.send('DELETE', '/role/no-such-role', { token })).status}`;
    for (let round = 0; round < 20; round++) {
      await cluster.rows(`update sessions set auth_time = now() - interval '10 minutes' where session_id = $1`, [
        login.session_id,
      ]);
      for (const instance of [here, there])
        await until(async () => (await attempt(instance, login.access_token)) === '401');
      const { status, body } = await here.send('POST', '/auth/reauthenticate', {
        token: login.access_token,
        body: { password },
      });
      expect(status).toBe(200);
      expect([
        await attempt(there, login.access_token),
        await attempt(there, body.access_token),
        await attempt(here, login.access_token),
      ]).toEqual(['404', '404', '404']);
    }
  });
});
