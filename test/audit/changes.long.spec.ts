import { checkHistories } from '../support/data/change-histories';
import startServer from '../support/global-setup';
import stopServer from '../support/global-teardown';
import { TestService } from '../support/service';

describe('the change feed', () => {
  let service: TestService;
  beforeAll(async () => {
    // A server of its own: transactions of other tests would hold the feed back.
    await startServer();
    service = await TestService.start();
  });
  afterAll(async () => {
    await service.close();
    await stopServer();
  });

  it('misses, repeats and reorders no change, and keeps copies equal, in 1,000 histories (C2)', async () => {
    const { body } = await service.get('/user/list?per_page=1', service.admin);
    const path = `/change/list?after=${String(body.changes_cursor)}&wait=30&type=role.deleted`;
    const longest = service.get(path, service.admin);
    await checkHistories(service, 1_000);
    // Nothing closes the connection of the longest wait.
    expect(await longest).toMatchObject({ status: 200, body: { items: [] } });
  }, 1_200_000);
});
