import { checkHistories } from '../support/change-histories';
import startServer from '../support/global-setup';
import stopServer from '../support/global-teardown';
import { TestService } from '../support/service';

it('misses, repeats and reorders no change, and keeps copies equal, in 1,000 histories (C2)', async () => {
  // A server of its own: transactions of other tests would hold the feed back.
  await startServer();
  const service = await TestService.start();
  const { body } = await service.get('/user/list?per_page=1', service.admin);
  const path = `/change/list?after=${String(body.changes_cursor)}&wait=30&type=role.deleted`;
  const longest = service.get(path, service.admin);
  await checkHistories(service, 1_000);
  // Nothing closes the connection of the longest wait.
  expect(await longest).toMatchObject({ status: 200, body: { items: [] } });
  await service.close();
  await stopServer();
}, 1_200_000);
