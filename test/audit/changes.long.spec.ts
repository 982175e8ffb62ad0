import { checkHistories } from '../support/change-histories';
import { TestService } from '../support/service';
import { ServiceProcess } from '../support/service-process';

it('misses, repeats and reorders no change in 1,000 histories (C2)', async () => {
  const service = await TestService.start();
  const other = await ServiceProcess.beside(service);
  await checkHistories(service, other, 1_000);
  await other.stop();
  await service.close();
}, 1_200_000);
