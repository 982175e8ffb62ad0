import { checkHistories } from '../support/change-histories';
import startServer from '../support/global-setup';
import stopServer from '../support/global-teardown';
import { TestService } from '../support/service';

it('misses, repeats and reorders no change, and keeps copies equal, in 1,000 histories (C2)', async () => {
  // A server of its own: transactions of other tests would hold the feed back.
  await startServer();
  const service = await TestService.start();
  await checkHistories(service, 1_000);
  await service.close();
  await stopServer();
}, 1_200_000);
